"""Print lines per package and the ten longest functions.

    python benchmarks/lines.py [FOLDER]

FOLDER is a checkout, by default this one. The length of a function includes its docstring and nested functions.
"""

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("signatures", "programs", "optimizers", "groundset", "tests", "benchmarks")
_LONGEST = 10


class Function(NamedTuple):
    """A function or method with its number of lines."""

    lines: int
    place: str
    name: str


def functions(file: Path, place: str) -> Iterator[Function]:
    """Yield every function of a module."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield Function(node.end_lineno - node.lineno + 1, f"{place}:{node.lineno}", node.name)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parents[1])
    root: Path = parser.parse_args().folder
    found: list[Function] = []
    print("| package | modules | lines | longest module |\n|---|---|---|---|")
    for package in PACKAGES:
        counts = {
            file.relative_to(root).as_posix(): len(file.read_text(encoding="utf-8").splitlines())
            for file in sorted((root / package).rglob("*.py"))
        }
        longest = max(counts, key=lambda place: counts[place])
        print(f"| {package} | {len(counts)} | {sum(counts.values()):,} | {longest}, {counts[longest]} |")
        if package not in ("tests", "benchmarks"):
            found += [function for place in counts for function in functions(root / place, place)]
    print("\n| lines | function | where |\n|---|---|---|")
    for function in sorted(found, key=lambda function: (-function.lines, function.place))[:_LONGEST]:
        print(f"| {function.lines} | {function.name} | {function.place} |")


if __name__ == "__main__":
    main()
