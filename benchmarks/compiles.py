"""Compare uncompiled and compiled steps, by default the step `answer` with the strategy `labeled`.

    python benchmarks/compiles.py [--lm NAME] [--steps STEP,...] [--optimizers NAME,...] [--budget N] [--dev N]

`--steps all --optimizers all` compiles every step with every strategy that needs no second model, which takes hours.

Prints one row of a Markdown table for each step and strategy: the outcome, the number of dev rows, the number of
candidates compared on all of them, the minimum detectable gain, the score of test rows before and after, the paired
gain on dev and test rows, calls and minutes. The default of --dev depends on the budget.

Finished calls are stored in --out, so repeating the command resumes it.
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
_WITHOUT_TEACHER = [
    name for name, strategy in STRATEGIES.items() if "lm" in strategy.needs and "teacher" not in strategy.needs
]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lm", default="qwen2.5-coder-0.5b")
    parser.add_argument("--steps", default="answer", type=_names_of(COMPILABLE))
    parser.add_argument("--optimizers", default="labeled", type=_names_of(_WITHOUT_TEACHER))
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--dev", type=int)
    parser.add_argument("--test", type=int, default=24)
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--out", type=Path, default=Path("out/bench-compile"))
    arguments = parser.parse_args()
    print(f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|", flush=True)
    all_steps = set(arguments.steps) == set(COMPILABLE)
    for name in arguments.optimizers:
        known = STRATEGIES[name].known_steps()
        options = CompileOptions(
            steps=("all",) if all_steps else tuple(step for step in arguments.steps if step in known),
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


def _names_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """Return a parser of comma-separated names, or `all`."""

    def read(text: str) -> list[str]:
        names = list(known) if text == _ALL else text.split(",")
        if unknown := ", ".join(name for name in names if name not in known):
            raise argparse.ArgumentTypeError(f"{unknown}: not one of {', '.join(known)}, {_ALL}")
        return names

    return read


def _cells(report: CompileReport) -> list[str]:
    measures, figures = report.measures, report.figures
    outcome = "better" if report.state.record["chosen"] else "as it was"
    rows = sum(row["split"] == "dev" for row in report.rows)
    cells = ["not tested" if report.untested else outcome, str(rows), f"{figures['compared']:.0f}"]
    cells += [f"{figures['detectable_gain']:.2f}", str(measures["before"]["test"]), str(measures["after"]["test"])]
    return [*cells, str(measures["gain"]["dev"]), str(measures["gain"]["test"]), f"{figures['calls']:.0f}"]


class _Silent:
    def start(self, step: str, calls: int, what: str = "calls") -> None: ...

    def call(self) -> None: ...

    def say(self, message: str) -> None: ...


if __name__ == "__main__":
    main()
