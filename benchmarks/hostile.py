"""Attack groundset with hostile input and print the result of each attack: exit status, seconds, peak memory.

    python benchmarks/hostile.py [NAME ...] [--checkout DIR] [--list]

Each attack creates its input in a temporary folder and runs the real command in child processes. Attacks that exceed
their limits on memory or time are killed and count as successful; servers listen on loopback only. ``--checkout``
attacks the code in another folder, such as an older version. With names, only these attacks run.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from attacks import ATTACKS
from attacks.target import Target


def main() -> None:
    """Print one row of a Markdown table for each attack; exit with 1 if one succeeds."""
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
    faults = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="groundset-hostile-") as folder:
            target = Target(arguments.checkout.resolve())
            fault = ATTACKS[name](target, Path(folder))
        faults += bool(fault)
        print(
            f"| {name.replace('_', ' ')} | {'no' if fault else 'yes'} | {target.status} | {target.seconds:.1f} "
            f"| {target.peak_mib:.0f} | {' '.join((fault or target.last_line).split())[:160].replace('|', '/')} |",
            flush=True,
        )
    print(f"\n{len(names) - faults} of {len(names)} attacks held.")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
