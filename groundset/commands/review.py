"""`groundset review`: a page to review and label samples."""

import signal
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from groundset.printing import say
from programs.errors import InputError

_READER = "reader"
_NAME_LENGTH = 60


def review(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="The folders of runs.", show_default=False)],
    reader: Annotated[
        str, typer.Option(metavar="NAME", help="Who reviews; every reviewer has verdicts of their own.")
    ] = _READER,
    rejects: Annotated[bool, typer.Option("--rejects", help="Review what was refused instead.")] = False,
    step: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP,...", help="Of the rejects, only those of these steps. Repeatable."),
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Compare runs: hide which one a sample is from until the result.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Shuffle with this seed; else samples come in their order (--blind: 0).",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="Where the page is served; 0 is any free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    report: Annotated[bool, typer.Option("--report", help="Print what share reviewers signed instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --report: print one JSON document.")] = False,
) -> None:
    """Review and label the samples of runs on a page in a browser.

    Every verdict is kept in RUN at once. The page is served on this machine alone, at an address with a token that is
    new at every start, until Ctrl-C. A run that is still being made can be reviewed too.
    """
    if report:
        page_options = {
            "--reader": reader != _READER,
            "--rejects": rejects,
            "--step": step,
            "--blind": blind,
            "--seed": seed is not None,
            "--port": port,
        }
        for option, given in page_options.items():
            if given:
                raise InputError(f"{option} is about the page; --report covers all reviews, so leave it out")
        from groundset.commands.review_report import print_report

        print_report(runs, as_json=as_json)
        return
    if as_json:
        raise InputError("--json is about the report; add --report")
    steps = [name.strip() for each in step or () for name in each.split(",") if name.strip()]
    if steps and not rejects:
        raise InputError("--step is about rejects; add --rejects")
    if blind and len(runs) < 2:
        raise InputError("--blind compares runs; name two or more")
    name = " ".join(reader.split())
    if not name or len(name) > _NAME_LENGTH or not name.isprintable():
        raise InputError(f"--reader: give a name of 1 to {_NAME_LENGTH} letters")
    from groundset.review.results import progress_of
    from groundset.review.server import serving, shown_in_browser
    from groundset.review.session import ReviewSession

    if blind and seed is None:
        seed = 0
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    with ReviewSession(
        runs, name, kind="reject" if rejects else "sample", steps=steps, seed=seed, blind=blind
    ) as session:
        try:
            with serving(session, port) as address:
                say(f"Open {address} in a browser. Ctrl-C ends it.")
                with shown_in_browser(address) if browser else nullcontext():
                    threading.Event().wait()
        except KeyboardInterrupt:
            done = progress_of(session)
            counts = f"{done.signed} signed, {done.refused} refused"
            say(f"{done.reviewed} of {done.items} are reviewed: {counts}.", err=True)
