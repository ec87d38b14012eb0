"""`groundset compile`: fit steps to labels."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundset.commands.compile_progress import progress
from groundset.commands.outputs import new_folder
from groundset.commands.tables import print_table
from groundset.commands.tracking import TrackingOption
from groundset.options import DEFAULT_EMBEDDER
from groundset.printing import say
from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.compiling import Wish
    from groundset.compiling.record import Started
    from groundset.tracking.compile_runs import CompileRuns
    from groundset.tracking.compiles import CompileStore
    from optimizers.report import CompileReport

_ALL, _MODE = "all", "mode"
_INTERRUPTED = 130


def compile_steps(
    steps: Annotated[
        list[str],
        typer.Argument(
            metavar="STEP...", help="Steps by name, such as judge or question; mode, the asking mode of --lm; or all."
        ),
    ],
    optimizer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The strategy; docs/compilation.md compares them.",
            show_default="fit-head, with --lm labeled",
        ),
    ] = None,
    lm: Annotated[
        str | None, typer.Option(metavar="MODEL", help="The language model to compile for; fit-head needs none.")
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A larger model that writes demos or instructions, and judges modes."),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Labels and gold rows of your own, beside those that groundset ships; squad:FILE reads questions of "
            "SQuAD. Repeatable.",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="For finetune: how many gold rows are learned from.", show_default="all"),
    ] = None,
    budget: Annotated[
        int, typer.Option(min=1, metavar="N", help="Language model calls that the strategy may make for each step.")
    ] = 1200,
    target_precision: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            help="For fit-head and fit-ensemble: the share of accepted rows that must be good, with 95 % confidence.",
            show_default="chunk 0.8, judge 0.8, same 0.85, grounding 0.85, fit-ensemble 0.5",
        ),
    ] = None,
    embedder: Annotated[str, typer.Option(metavar="MODEL", help="The embedding model.")] = DEFAULT_EMBEDDER,
    seed: Annotated[int, typer.Option(help="Fixes what chance would decide.")] = 0,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder that the states go to.", callback=new_folder)
    ] = Path("out/compiled"),
    track: Annotated[bool, typer.Option("--track/--no-track", help="Log the compile in MLflow.")] = True,
    track_texts: Annotated[
        bool,
        typer.Option(
            "--track-texts", help="Send state, prompt and rows to a tracking server too; they hold texts of labels."
        ),
    ] = False,
    tracking: TrackingOption = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Let the optimizers' own words through.")] = False,
) -> None:
    """Compile steps against labels.

    Examples to learn from come from the split train, candidates are compared on dev, and test is only reported.
    The budget decides how many dev rows are taken, 24 to 300, and so how small a gain can be seen.
    Use the result with `groundset generate --compiled DIR`. Ctrl-C keeps the best so far, and the same command
    goes on without paying for a call twice.
    """
    from groundset.compiling.labels import own_files
    from groundset.tracking.compile_runs import CompileRuns
    from optimizers.steps import COMPILABLE
    from optimizers.strategies import STRATEGIES

    optimizer = optimizer or ("fit-head" if lm is None else "labeled")
    if optimizer not in STRATEGIES:
        raise InputError(f"--optimizer {optimizer}: no such strategy; choose one of {', '.join(STRATEGIES)}.")
    for step in steps:
        if step not in (*COMPILABLE, _MODE, _ALL):
            raise InputError(f"{step}: no such step to compile; choose of {', '.join(COMPILABLE)}, {_MODE} or {_ALL}.")
    if lm is None and optimizer != "fit-head":
        raise InputError(f"--optimizer {optimizer} compiles for a language model: name it with --lm.")
    if _MODE in steps and (lm is None or teacher is None):
        raise InputError("mode: name the model with --lm, and the one that judges what it asks with --teacher.")
    asked = [] if _ALL in steps else [step for step in dict.fromkeys(steps) if step != _MODE]
    lines: list[str] = []
    own = own_files(labels or [], out, lambda said: say(said, err=True))
    try:
        with CompileRuns(partial(_open_store, tracking, track_texts) if track else None, _not_tracked) as runs:
            if not asked and _ALL not in steps:
                reports: Iterable[tuple[CompileReport, Path]] = ()
            elif lm is None or optimizer == "fit-head":
                reports = _heads(asked, own, target_precision, embedder, seed, out, runs.start)
            elif optimizer == "fit-ensemble":
                reports = _ensemble(asked, lm, own, target_precision, embedder, out, runs.start)
            elif optimizer == "finetune":
                reports = _adapters(asked, lm, own, rows, seed, out, runs.start)
            else:
                from groundset.compiling import Wish

                wish = Wish(out, budget, seed)
                reports = _with_model(asked, optimizer, lm, teacher, own, embedder, wish, verbose, runs.start)
            lines += _show(reports, runs)
        if lm is not None and teacher is not None and (_MODE in steps or _ALL in steps):
            lines.append(_mode(lm, teacher, own, seed, out))
        if len(steps) > 1 or _ALL in steps:
            say()
            for line in lines:
                say(line)
    except KeyboardInterrupt:
        say("Interrupted: the same command takes it up again.", err=True)
        raise typer.Exit(_INTERRUPTED) from None


def _heads(
    steps: list[str],
    labels: list[Path],
    target_precision: float | None,
    embedder: str,
    seed: int,
    out: Path,
    started: "Started",
) -> "Iterable[tuple[CompileReport, Path]]":
    from groundset.compiling import compile_heads
    from optimizers.strategies import STRATEGIES

    strategy = STRATEGIES["fit-head"]
    for step in steps:
        strategy.check(step, demos=False, teacher=False)
    return compile_heads(
        steps or strategy.steps_of(()),
        labels,
        embedder=embedder,
        target_precision=target_precision,
        seed=seed,
        out=out,
        on_progress=lambda said: say(f"{said}.", err=True),
        started=started,
    )


def _ensemble(
    steps: list[str],
    lm: str,
    labels: list[Path],
    target_precision: float | None,
    embedder: str,
    out: Path,
    started: "Started",
) -> "Iterator[tuple[CompileReport, Path]]":
    from groundset.compiling import compile_ensemble
    from groundset.models.servers import check_server
    from optimizers.strategies import STRATEGIES

    for step in steps:
        STRATEGIES["fit-ensemble"].check(step, demos=True, teacher=False)
    check_server(lm)
    with progress() as told:
        yield compile_ensemble(
            lm, labels, embedder=embedder, target_precision=target_precision, out=out, listener=told, started=started
        )


def _adapters(
    steps: list[str], lm: str, gold: list[Path], rows: int | None, seed: int, out: Path, started: "Started"
) -> "Iterator[tuple[CompileReport, Path]]":
    from groundset.compiling.finetuning import compile_adapter
    from optimizers.finetuning.base import TrainingOptions
    from optimizers.strategies import STRATEGIES

    asked = steps or STRATEGIES["finetune"].steps_of(())
    options = TrainingOptions(seed=seed, rows=rows)
    with progress() as told:
        yield from compile_adapter(asked, lm, gold, options=options, out=out, listener=told, started=started)


def _with_model(
    steps: list[str],
    optimizer: str,
    lm: str,
    teacher: str | None,
    labels: list[Path],
    embedder: str,
    wish: "Wish",
    verbose: bool,
    started: "Started",
) -> "Iterator[tuple[CompileReport, Path]]":
    from groundset.compiling import Compiler
    from groundset.models.servers import check_server

    for model in (lm, teacher):
        if model is not None:
            check_server(model)
    compiler = Compiler(lm, embedder=embedder, journal=wish.out / "calls.sqlite", teacher=teacher, labels=labels)
    asked = steps or compiler.steps_of(optimizer)
    for step in asked:  # what is lacking should be said before anything is opened
        compiler.check(step, optimizer)
    with compiler, progress() as told:
        for step in asked:
            yield compiler.compile(step, optimizer, wish, told, verbose=verbose, started=started)


def _mode(lm: str, judging_lm: str, labels: list[Path], seed: int, out: Path) -> str:
    """Measure the asking modes of a model and return a line on them."""
    from groundset.compiling.modes import compile_mode
    from groundset.models.servers import check_server

    for model in (lm, judging_lm):
        check_server(model)
    with progress() as told:
        report = compile_mode(lm, judging_lm, labels=labels, seed=seed, out=out, say=told.say)
    say()
    best, *others = report.measures
    say(f"mode of {lm}: {best.mode}. State: {report.file}.")
    print_table(
        ("mode", "good samples a passage", "made", "passages"),
        [(each.mode, str(each.share), str(each.made), str(each.passages)) for each in report.measures],
    )
    return (
        f"mode: {best.mode} ({best.share} of passages give a good sample; "
        + "; ".join(f"{each.mode} {each.share}" for each in others)
        + ")"
    )


def _show(reports: "Iterable[tuple[CompileReport, Path]]", runs: "CompileRuns") -> list[str]:
    """Print each report, and return a line on each."""
    files, lines, ending = [], [], "complete"
    for report, file in reports:
        files.append(file)
        ending = report.ending
        state = report.state
        say()
        say(f"{state.step} for {state.model} by {state.optimizer}: {_told(report)}.")
        versions = [version for version in ("before", "after", "gain") if version in report.measures]
        names = list(dict.fromkeys(name for version in versions for name in report.measures[version]))
        rows = [
            (name.replace("_", " "), *(str(report.measures[version].get(name, "")) for version in versions))
            for name in names
        ]
        print_table(("measure", *versions), rows)
        if tracked := runs.finish(report):
            host = runs.texts_kept_back_from
            left = f", figures only: promote needs the state, which --track-texts sends to {host}" if host else ""
            say(f"Tracked as {tracked}{runs.where}{left}.")
        lines.append(_in_short(report))
        if ending == "interrupted":
            break
    if not files:
        return lines
    say()
    say(f"States: {', '.join(map(str, files))}.")
    if ending == "interrupted":
        say("Interrupted: the best so far is kept, test rows were not looked at. The same command goes on.")
        raise typer.Exit(_INTERRUPTED)
    return lines


def _in_short(report: "CompileReport") -> str:
    """Return the gain of a compile on dev and test rows in one line."""
    gains = report.measures.get("gain", {})
    told = ", ".join(f"{name.replace('_', ' ')} {gain}" for name, gain in gains.items())
    if not report.state.record.get("chosen", 1):
        return f"{report.state.step}: as it was"
    return f"{report.state.step}: by {report.state.optimizer}, gain {told or 'not measured'}"


def _open_store(tracking: str | None, texts: bool) -> "CompileStore":
    from groundset.tracking.compiles import CompileStore

    store = CompileStore.open(tracking, texts=texts)
    if texts and store.host:
        say(f"Texts go to {store.host}, the tracking store.", err=True)
    return store


def _not_tracked(error: Exception) -> None:
    say(f"Not tracked: {error} (--no-track leaves it out)", err=True)


def _told(report: "CompileReport") -> str:
    state = report.state
    if state.target_precision is not None:
        return f"accepts from {state.threshold:.3f} on, promises {state.target_precision:.0%}"
    chosen, figures = state.record["chosen"], report.figures
    if state.adapter is not None:
        return f"trained on {state.record['rows']['train']} gold rows in {figures['seconds'] / 60:.0f} minutes"
    kept = f"candidate {chosen} is the best" if chosen else "the step as it was is the best"
    tried, compared = len(report.candidates) - 1, f"{figures['compared']:.0f}"
    told = f"{kept} ({compared} of {tried} candidates compared on all dev rows)"
    told += f"; a gain of {figures['detectable_gain']:.2f} could have been told from noise"
    if report.untested:
        told = f"not tested (none of {tried} candidates was compared on all dev rows: raise --budget)"
    return f"{told}; {figures['calls']:.0f} calls, {figures['seconds'] / 60:.1f} minutes of the model"
