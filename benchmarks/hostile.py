"""Attack groundset with hostile input and print what each attack cost: exit status, seconds, peak memory.

    python benchmarks/hostile.py [NAME ...] [--checkout DIR] [--list]

Each attack makes its input in a temporary folder and runs the real command in processes of its own. An attack that
takes more memory or time than it is allowed is ended and counts as broken, so this machine is safe; servers listen on
loopback only. ``--checkout`` attacks the code in another folder, such as an older version. With names, only these
attacks are made.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from attacks import ATTACKS
from attacks.target import Target


def main() -> None:
    """Print one row of a Markdown table for each attack; exit with 1 if one is not held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--checkout", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--list", action="store_true", help="Print the names of all attacks.")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - ATTACKS.keys():
        parser.error(f"no attack is called {', '.join(sorted(unknown))}; see --list")
    if arguments.list:
        print(*ATTACKS, sep="\n")
        return
    names = arguments.names or list(ATTACKS)
    print("| attack | held | status | seconds | peak MiB | what happened |\n|---|---|---|---|---|---|")
    broken = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="groundset-hostile-") as folder:
            target = Target(arguments.checkout.resolve())
            fault = ATTACKS[name](target, Path(folder))
        broken += bool(fault)
        print(
            f"| {name.replace('_', ' ')} | {'no' if fault else 'yes'} | {target.status} | {target.seconds:.1f} "
            f"| {target.peak_mib:.0f} | {' '.join((fault or target.last_line).split())[:160].replace('|', '/')} |",
            flush=True,
        )
    print(f"\n{len(names) - broken} of {len(names)} attacks held.")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
