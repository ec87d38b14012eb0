"""The command line as ``python -m groundset``."""

from groundset.commands import main

if __name__ == "__main__":
    main()
