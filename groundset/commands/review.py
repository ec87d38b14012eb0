"""`groundset review`: review samples in a browser."""

import signal
import threading
from contextlib import nullcontext
from pathlib import Path

from groundset.commands.declare import Command
from groundset.options import CommandOptions, option
from groundset.printing import say
from programs.errors import InputError

_DEFAULT_REVIEWER = "reader"
_MAX_NAME = 60


class ReviewOptions(CommandOptions):
    """Review and label samples in a browser.

    Verdicts are saved in RUN immediately. The page is served on this machine only, until Ctrl-C, at an address with a
    token that changes at every start. Runs that are still being generated can be reviewed too.
    """

    runs: tuple[Path, ...] = option(..., "The folders of runs.", metavar="RUN...", argument=True)
    reader: str = option(_DEFAULT_REVIEWER, "Name of the reviewer; verdicts are stored per reviewer.", metavar="NAME")
    rejects: bool = option(False, "Review rejects instead of samples.")
    step: tuple[str, ...] = option((), "Review only rejects of these steps. Repeatable.", metavar="STEP,...")
    blind: bool = option(False, "Compare runs: hide the run of each sample until the result.")
    seed: int | None = option(
        None, "Shuffle with this seed; by default samples keep their order (--blind: 0).", metavar="N"
    )
    port: int = option(0, "Port of the page; 0 is any free port.", metavar="PORT", ge=0, le=65535)
    browser: bool = option(True, "Open the page in a browser.")
    report: bool = option(False, "Print the share of signed samples instead.")
    as_json: bool = option(False, "With --report: print one JSON document.", names=("--json",), only="command")


def review(options: ReviewOptions) -> None:
    """Serve the page until Ctrl-C, or print the report."""
    if options.report:
        page_options = {
            "--reader": options.reader != _DEFAULT_REVIEWER,
            "--rejects": options.rejects,
            "--step": options.step,
            "--blind": options.blind,
            "--seed": options.seed is not None,
            "--port": options.port,
        }
        for name, is_set in page_options.items():
            if is_set:
                raise InputError(f"{name} cannot be used with --report, which covers all reviews")
        from groundset.commands.output.reviews import print_report

        print_report(list(options.runs), as_json=options.as_json)
        return
    if options.as_json:
        raise InputError("--json requires --report")
    steps = [name.strip() for names in options.step or () for name in names.split(",") if name.strip()]
    if steps and not options.rejects:
        raise InputError("--step requires --rejects")
    if options.blind and len(options.runs) < 2:
        raise InputError("--blind compares runs; name two or more")
    name = " ".join(options.reader.split())
    if not name or len(name) > _MAX_NAME or not name.isprintable():
        raise InputError(f"--reader: must have 1 to {_MAX_NAME} printable characters")
    from groundset.review.results import progress_of
    from groundset.review.server import serving, shown_in_browser
    from groundset.review.session import ReviewSession

    seed = 0 if options.blind and options.seed is None else options.seed
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
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
                say(f"Open {address} in a browser. Press Ctrl-C to stop.")
                with shown_in_browser(address) if options.browser else nullcontext():
                    threading.Event().wait()
        except KeyboardInterrupt:
            progress = progress_of(session)
            counts = f"{progress.signed} signed, {progress.refused} refused"
            say(f"Reviewed {progress.reviewed} of {progress.items}: {counts}.", err=True)


COMMAND = Command("review", ReviewOptions, review, rank=4)
