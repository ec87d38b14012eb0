"""Compare steps of a model as they are with what strategies compile of them: by default `answer` with `labeled`.

    python benchmarks/compiles.py [--lm NAME] [--steps STEP,...] [--optimizers NAME,...] [--budget N] [--dev N]

`--steps all --optimizers all` takes every step with every strategy that needs no second model, for hours.

Prints one row of a Markdown table for each step and strategy: the outcome, how many dev rows there were, how many
candidates were compared on all of them, what gain they could see, test rows before and after, the paired gain on dev
and test rows, calls and minutes. Without --dev the budget decides how many dev rows are taken.

Finished calls are kept in --out, so the same command goes on where it was ended.
"""

import argparse
import time
from collections.abc import Callable, Collection
from pathlib import Path

from groundset.compiling.compiler import compile_steps
from groundset.compiling.options import CompileOptions
from optimizers.report import CompileReport
from optimizers.steps import COMPILABLE
from optimizers.strategies import STRATEGIES

_COLUMNS = (
    *("step", "strategy", "outcome", "dev rows", "compared", "detectable gain", "before, test", "after, test"),
    *("gain on dev", "gain on test", "calls", "minutes"),
)
_ALL = "all"
_ALONE = [name for name, strategy in STRATEGIES.items() if "lm" in strategy.needs and "teacher" not in strategy.needs]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lm", default="qwen2.5-coder-0.5b")
    parser.add_argument("--steps", default="answer", type=_of(COMPILABLE))
    parser.add_argument("--optimizers", default="labeled", type=_of(_ALONE))
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--dev", type=int)
    parser.add_argument("--test", type=int, default=24)
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--out", type=Path, default=Path("out/bench-compile"))
    arguments = parser.parse_args()
    print(f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|", flush=True)
    whole = set(arguments.steps) == set(COMPILABLE)
    for name in arguments.optimizers:
        known = STRATEGIES[name].known_steps()
        options = CompileOptions(
            steps=("all",) if whole else tuple(step for step in arguments.steps if step in known),
            optimizer=name,
            lm=arguments.lm,
            embedder=arguments.embedder,
            budget=arguments.budget,
            out=arguments.out,
        )
        started = time.perf_counter()
        for report, _ in compile_steps(options, _Silent(), dev=arguments.dev, test=arguments.test):
            assert isinstance(report, CompileReport)
            minutes, started = (time.perf_counter() - started) / 60, time.perf_counter()
            print(f"| {' | '.join((report.step, name, *_cells(report)))} | {minutes:.1f} |", flush=True)


def _of(known: Collection[str]) -> Callable[[str], list[str]]:
    """Return what reads names with commas between them, or `all`."""

    def read(text: str) -> list[str]:
        names = list(known) if text == _ALL else text.split(",")
        if unknown := ", ".join(name for name in names if name not in known):
            raise argparse.ArgumentTypeError(f"{unknown}: not one of {', '.join(known)}, {_ALL}")
        return names

    return read


def _cells(report: CompileReport) -> list[str]:
    found, figures = report.measures, report.figures
    outcome = "better" if report.state.record["chosen"] else "as it was"
    rows = sum(row["split"] == "dev" for row in report.rows)
    cells = ["not tested" if report.untested else outcome, str(rows), f"{figures['compared']:.0f}"]
    cells += [f"{figures['detectable_gain']:.2f}", str(found["before"]["test"]), str(found["after"]["test"])]
    return [*cells, str(found["gain"]["dev"]), str(found["gain"]["test"]), f"{figures['calls']:.0f}"]


class _Silent:
    def start(self, step: str, calls: int, what: str = "calls") -> None: ...

    def call(self) -> None: ...

    def say(self, message: str) -> None: ...


if __name__ == "__main__":
    main()
