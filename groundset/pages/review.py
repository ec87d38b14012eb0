"""`groundset review`: sign or refuse the samples of a run in a browser."""

import signal
import threading
from contextlib import nullcontext, suppress
from pathlib import Path

from groundset.options import Options, option
from groundset.pages.server import serving, shown_in_browser
from groundset.pages.verdicts import latest_reviews, tallies
from groundset.printing import say
from groundset.run.run import open_run
from programs.errors import InputError

_MAX_NAME = 60


class ReviewOptions(Options):
    """Review the samples of a run in a browser, one at a time.

    Samples come in an order drawn at random, the same for every reviewer. Verdicts are kept in RUN at once; the same
    command goes on. The page is served on this machine only, until Ctrl-C, at an address with a token that changes at
    every start.
    """

    run: Path = option(..., "Folder of the run.", metavar="RUN", argument=True)
    reviewer: str = option("reviewer", "Name of the reviewer; each has verdicts of their own.", metavar="NAME")
    port: int = option(0, "Port of the page; 0 is any free port.", metavar="PORT", ge=0, le=65535)
    open: bool = option(True, "Open the page in a browser.")


def review(options: ReviewOptions) -> None:
    """Serve the pages until Ctrl-C.

    Raises:
        InputError: the folder holds no run, or an option is wrong.
        RunError: the run is damaged, or its folder cannot be written.
    """
    name = " ".join(options.reviewer.split())
    if not name or len(name) > _MAX_NAME or not name.isprintable():
        raise InputError(f"--reviewer: must have 1 to {_MAX_NAME} printable characters")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    run = open_run(options.run)
    with suppress(KeyboardInterrupt), serving(run, name, options.port) as address:
        say(f"open {address} in a browser; Ctrl-C stops it")
        with shown_in_browser(address) if options.open else nullcontext():
            threading.Event().wait()
    for mine in tallies(run.samples, latest_reviews(run.reviews)):
        if mine.reviewer == name:
            say(f"reviewed {mine.reviewed} of {len(run)}, {mine.signed} signed", err=True)
