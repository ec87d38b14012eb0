"""`groundset compile`: fit steps to labels."""

from pathlib import Path
from typing import Annotated

import typer

from groundset.cli.chunk import DEFAULT_EMBEDDER
from groundset.cli.tables import print_table
from groundset.errors import InputError


def compile_steps(
    steps: Annotated[list[str], typer.Argument(metavar="STEP...", help="chunk, judge or all.", show_default=False)],
    labels: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Labels of your own, beside those that groundset ships. Repeatable."),
    ] = None,
    target_precision: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            help="The share of accepted rows that must be good, with 95 % confidence.",
            show_default="chunk 0.8, judge 0.55",
        ),
    ] = None,
    embedder: Annotated[str, typer.Option(metavar="MODEL", help="The embedding model.")] = DEFAULT_EMBEDDER,
    seed: Annotated[int, typer.Option(help="Fixes what chance would decide.")] = 0,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder that the states go to.")] = Path("out/compiled"),
) -> None:
    """Fit the critics to labels.

    Heads are fitted to the rows of the split train, their thresholds chosen on dev, and test is only reported.
    Use the result with `groundset generate --compiled DIR`.
    """
    from groundset.compiling import compile_heads
    from optimizers.compile_head import STEPS

    for step in steps:
        if step not in (*STEPS, "all"):
            raise InputError(f"{step}: no such step to compile; choose of {', '.join(STEPS)} or all.")
    asked = list(STEPS) if "all" in steps else list(dict.fromkeys(steps))
    for file in labels or ():
        if not file.is_file():
            raise InputError(f"--labels {file}: no such file.")
    results = compile_heads(
        asked,
        labels or [],
        embedder=embedder,
        target_precision=target_precision,
        seed=seed,
        out=out,
        on_progress=lambda said: typer.echo(f"{said}.", err=True),
    )
    for result in results:
        state = result.state
        typer.echo(f"\n{state.step}: accepts from {state.threshold:.3f} on, promises {state.target_precision:.0%}.")
        names = list(dict.fromkeys(name for found in result.fitted.measures.values() for name in found))
        rows = [
            (name.replace("_", " "), *(str(found.get(name, "")) for found in result.fitted.measures.values()))
            for name in names
        ]
        print_table(("measure", *result.fitted.measures), rows)
    typer.echo(f"\nStates: {', '.join(str(result.file) for result in results)}.")
