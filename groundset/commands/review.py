"""`groundset review`: a page to review and label samples."""

import signal
import threading
from contextlib import nullcontext
from pathlib import Path

from groundset.commands.declare import Command
from groundset.options import CommandOptions, option
from groundset.printing import say
from programs.errors import InputError

_READER = "reader"
_NAME_LENGTH = 60


class ReviewOptions(CommandOptions):
    """Review and label the samples of runs on a page in a browser.

    Every verdict is kept in RUN at once. The page is served on this machine alone, at an address with a token that is
    new at every start, until Ctrl-C. A run that is still being made can be reviewed too.
    """

    runs: tuple[Path, ...] = option(..., "The folders of runs.", metavar="RUN...", argument=True)
    reader: str = option(_READER, "Who reviews; every reviewer has verdicts of their own.", metavar="NAME")
    rejects: bool = option(False, "Review what was refused instead.")
    step: tuple[str, ...] = option((), "Of the rejects, only those of these steps. Repeatable.", metavar="STEP,...")
    blind: bool = option(False, "Compare runs: hide which one a sample is from until the result.")
    seed: int | None = option(
        None, "Shuffle with this seed; else samples come in their order (--blind: 0).", metavar="N"
    )
    port: int = option(0, "Where the page is served; 0 is any free one.", metavar="PORT", ge=0, le=65535)
    browser: bool = option(True, "Open the page in a browser.")
    report: bool = option(False, "Print what share reviewers signed instead.")
    as_json: bool = option(False, "With --report: print one JSON document.", names=("--json",), only="command")


def review(options: ReviewOptions) -> None:
    """Serve the page until Ctrl-C, or print the report."""
    if options.report:
        page_options = {
            "--reader": options.reader != _READER,
            "--rejects": options.rejects,
            "--step": options.step,
            "--blind": options.blind,
            "--seed": options.seed is not None,
            "--port": options.port,
        }
        for name, given in page_options.items():
            if given:
                raise InputError(f"{name} is about the page; --report covers all reviews, so leave it out")
        from groundset.commands.output.reviews import print_report

        print_report(list(options.runs), as_json=options.as_json)
        return
    if options.as_json:
        raise InputError("--json is about the report; add --report")
    steps = [name.strip() for each in options.step or () for name in each.split(",") if name.strip()]
    if steps and not options.rejects:
        raise InputError("--step is about rejects; add --rejects")
    if options.blind and len(options.runs) < 2:
        raise InputError("--blind compares runs; name two or more")
    name = " ".join(options.reader.split())
    if not name or len(name) > _NAME_LENGTH or not name.isprintable():
        raise InputError(f"--reader: give a name of 1 to {_NAME_LENGTH} letters")
    from groundset.review.results import progress_of
    from groundset.review.server import serving, shown_in_browser
    from groundset.review.session import ReviewSession

    seed = 0 if options.blind and options.seed is None else options.seed
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    with ReviewSession(
        options.runs,
        name,
        kind="reject" if options.rejects else "sample",
        steps=steps,
        seed=seed,
        blind=options.blind,
    ) as session:
        try:
            with serving(session, options.port) as address:
                say(f"Open {address} in a browser. Ctrl-C ends it.")
                with shown_in_browser(address) if options.browser else nullcontext():
                    threading.Event().wait()
        except KeyboardInterrupt:
            done = progress_of(session)
            counts = f"{done.signed} signed, {done.refused} refused"
            say(f"{done.reviewed} of {done.items} are reviewed: {counts}.", err=True)


COMMAND = Command("review", ReviewOptions, review, rank=4)
