"""Run every recipe and every evolution of the mode, and print what each sample cost.

    python benchmarks/recipes.py [DOCS] [--lm NAME] [--mode NAME] [--size N] [--out FOLDER]
    python benchmarks/recipes.py --runs RUN [RUN ...]

The first form makes a run of each recipe in FOLDER, and one of ``evolved`` that mixes all evolutions of the mode; a run
that exists is continued. The second form prints the table of existing runs. Calls, tokens and seconds are those of the
whole run, divided by its samples; a row of an evolution has only the figures of its samples.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from groundset.engine.config import choose_mode, make_config
from groundset.engine.generation import run_generation
from groundset.progress import Progress
from groundset.report.measurements import found_within
from groundset.run import Run
from programs.errors import InputError
from programs.recipes import RECIPES
from programs.types import Sample

_NEEDS_QUERIES = "like"  # needs queries of a user
_COLUMNS = ("run", "asked", "made", "attempts", "calls", "tokens", "new tokens", "seconds", "duplicates", "hit@1")


def make_runs(arguments: argparse.Namespace) -> Iterator[Path]:
    """Make a run of each recipe, and one of all evolutions, and yield their folders."""
    base = {"documents": tuple(arguments.docs), "lm": arguments.lm, "mode": arguments.mode, "size": arguments.size}
    runs: dict[str, dict[str, Any]] = {name: {"recipe": name} for name in RECIPES}
    evolutions = [name for name in choose_mode(make_config(base)).mode.evolutions if name != _NEEDS_QUERIES]
    runs["evolutions"] = {"mix": dict.fromkeys(evolutions, 1.0), "size": max(arguments.size, 2 * len(evolutions))}
    for name, options in runs.items():
        folder, config = arguments.out / name, make_config({**base, **options})
        try:
            choose_mode(config)
        except InputError as error:
            print(f"{name} is left out: {error}")
            continue
        print(*run_generation(config, folder, progress=Progress()).summary, sep="\n")
        yield folder


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield the row of a run, then one for each evolution if it has several."""
    run = Run(folder)
    record, made = run.record, max(1, len(run.samples))
    duplicates = sum(reject.step == "duplicate" for reject in run.rejects)
    per_sample = [record[key] / made for key in ("calls", "prompt_tokens", "evaluated_tokens", "seconds")]
    counts = map(str, (record["asked"], len(run.samples), record["attempts"]))
    yield (folder.name, *counts, *(f"{value:,.1f}" for value in per_sample), str(duplicates), _found(run.samples))
    missing = record["mode"]["missing"]
    if len(names := {**record["evolutions"], **missing}) > 1:
        for name in names:
            samples = [sample for sample in run.samples if sample.evolution == name]
            asked = len(samples) + missing.get(name, 0)
            yield (f"  {name}", str(asked), str(len(samples)), *[""] * 6, _found(samples))


def _found(samples: Sequence[Sample]) -> str:
    """Return the share of answerable questions whose chunk is found first."""
    answerable = [sample for sample in samples if sample.answerable]
    return f"{found_within(answerable, 1).mean():.2f}" if answerable else ""


def print_table(folders: Iterable[Path]) -> None:
    """Print one Markdown table of runs."""
    print("|", " | ".join(_COLUMNS), "|")
    print("|---" * len(_COLUMNS) + "|")
    for folder in folders:
        for row in rows(folder):
            print("|", " | ".join(row), "|")


def main() -> None:
    """Make the runs, unless some are named, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", nargs="*", type=Path, default=[Path("data/samples")])
    parser.add_argument("--lm", default="qwen2.5-coder-0.5b")
    parser.add_argument("--mode")
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("out/bench-recipes"))
    parser.add_argument("--runs", nargs="+", type=Path)
    arguments = parser.parse_args()
    print_table(arguments.runs or list(make_runs(arguments)))


if __name__ == "__main__":
    main()
