"""The command line as ``python -m groundset``."""

from groundset.cli import main

if __name__ == "__main__":
    main()
