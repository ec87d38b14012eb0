"""`groundset review`: sign or refuse the samples of a run on pages that are served to this machine
alone.
"""

import logging
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flask import Flask, Response, abort, make_response, redirect, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import make_server
from werkzeug.wrappers import Response as AnyResponse

from groundset.options import RUN, Options, option
from groundset.pages.html import policy, render
from groundset.pages.verdicts import (
    REASONS,
    Reviewer,
    agreements,
    answered,
    in_review_order,
    readings_of,
    tallies,
    verdicts_in,
)
from groundset.printing import counted, say
from groundset.programs.errors import GroundsetError, InputError
from groundset.programs.forms import UNSURE
from groundset.programs.text import one_line
from groundset.programs.types import Sample
from groundset.run.folder import DATABASE
from groundset.run.record import latest_reviews, write_files
from groundset.run.run import Run, open_run
from groundset.run.store import Review, Store

_HOST = "127.0.0.1"
_MAX_BODY = 100_000  # bytes
_HEADERS = {
    "Content-Security-Policy": f"{policy('page.css', 'review.js')}; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Hides addresses from other sites; `no-referrer` would also suppress the Origin header of
    # forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_UNKNOWN = (
    "There is no such page. Open the address printed by `groundset review`: it contains a token"
    " that changes at every start.\n"
)


class ReviewOptions(Options):
    """Review the samples of a run in a browser, one at a time.

    Samples come in an order drawn at random, the same for every reviewer. Verdicts are kept in RUN
    at once; the same command goes on. The page is served on this machine only, until Ctrl-C, at an
    address with a token that changes at every start. With --verdicts, no page is served.
    """

    run: Path = RUN
    reviewer: Reviewer = option(
        "reviewer", "Name of the reviewer; each has verdicts of their own.", metavar="NAME"
    )
    verdicts: Path | None = option(
        None,
        "Record the verdicts of a .jsonl or .csv file: `id`, `verdict` (signed or refused, good or"
        " bad), perhaps `reason`, `note` and `reviewer`.",
        metavar="FILE",
    )
    port: int = option(0, "Port of the page; 0 is any free port.", metavar="PORT", ge=0, le=65535)
    open: bool = option(True, "Open the page in a browser.")


def review(options: ReviewOptions) -> None:
    """Serve the pages until Ctrl-C, or record the verdicts of a file.

    Raises:
        InputError: the folder holds no run, or an option or the file is wrong.
        RunError: the run is damaged, or its folder cannot be written.
    """
    name, run = options.reviewer, open_run(options.run)
    if options.verdicts:
        reviews = verdicts_in(options.verdicts, run, name)
        with Store(run.folder / DATABASE) as store, store.transaction():
            for each in reviews:
                store.add_review(each)
        say(
            f"recorded {counted(len(reviews), 'verdict')},"
            f" {sum(each.verdict == 'signed' for each in reviews)} signed"
        )
        return
    with suppress(KeyboardInterrupt), serving(run, name, options.port) as address:
        say(f"open {address} in a browser; Ctrl-C stops it")
        with shown_in_browser(address) if options.open else nullcontext():
            threading.Event().wait()
    samples = (*run.samples, *run.unsure)
    if mine := tallies(samples, latest_reviews(run.reviews)).get(name):
        say(f"reviewed {mine['of']} of {len(samples)}, {mine['part']} signed", err=True)


def make_app(run: Run, reviewer: str, token: str) -> Flask:
    """Build the application with which someone reviews a run below ``/token/``.

    Other sites do not know the token, so they can neither read nor post. Verdicts are read anew for
    every page, so that several people can review a run at the same time.
    """
    app = Flask("groundset.pages", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = _MAX_BODY
    database, samples = run.folder / DATABASE, in_review_order((*run.samples, *run.unsure))

    def given() -> dict[str, dict[str, Review]]:
        with Store(database, read_only=True) as store:
            return latest_reviews(store.reviews())

    def page(template: str, **values: Any) -> str:
        verdicts = given()
        return render(
            template,
            base=f"/{token}",
            reasons=REASONS,
            agreements=agreements(samples, verdicts),
            samples=samples,
            reviewer=reviewer,
            verdicts=verdicts,
            tallies=tallies(samples, verdicts),
            **values,
        )

    def item(number: int, sample: Sample, form: Mapping[str, Any] | None = None) -> str:
        """Return the page of a sample; ``form`` has the error and what is kept in the form."""
        read = readings_of(sample, run.chunks)
        chunks = {each.chunk_id: each for each in sample.contexts}
        return page(
            "item.html",
            number=number,
            sample=sample,
            chunks=chunks | {name: run.chunks[name] for name in read},
            documents=run.documents,
            readings=read,
            form=form,
            after=request.args.get("after", 0, int),
        )

    def go_on(after: int) -> AnyResponse:
        """Redirect to the next sample that the reviewer has not reviewed, wrapping around, or to
        the result.
        """
        verdicts = given()
        places = (*range(after, len(samples)), *range(after))
        left = (place for place in places if reviewer not in verdicts.get(samples[place].id, {}))
        following = next((str(place + 1) for place in left), "result")
        return redirect(f"/{token}/{following}" + (f"?after={after}" if after else ""), 303)

    @app.get(f"/{token}/")
    def start() -> AnyResponse:
        return go_on(0)

    @app.get(f"/{token}/result")
    def result() -> str:
        return page("result.html")

    @app.route(f"/{token}/<int:number>", methods=["GET", "POST"])
    def show(number: int) -> AnyResponse | str | tuple[str, int]:
        if not 0 < number <= len(samples):
            abort(404)
        sample = samples[number - 1]
        if request.method == "GET":
            return item(number, sample)
        verdict, chosen = request.form.get("verdict"), request.form.getlist("reason")
        note, answer = (one_line(request.form.get(name, "")) for name in ("note", "answer"))
        ticked, tried = request.form.getlist("passage"), dict[str, Any]()
        read = readings_of(sample, run.chunks) if verdict == "signed" else {}
        is_known = REASONS.keys() >= set(chosen) and (not read or read.keys() >= set(ticked))
        if verdict not in ("signed", "refused") or not is_known:
            abort(400)
        is_refused, error = verdict == "refused", ""
        if is_refused and not chosen:
            error = "Choose at least one reason for refusing it."
        elif is_refused and "other" in chosen and not note:
            error = "Say in the note what else is wrong."
        elif read and bool(ticked) != bool(answer):
            error = "Tick the passages that answer it and write the answer, or neither."
            tried = {"answer": answer, "retrieval_gt": (ticked,), "evolution": UNSURE}
        if error:
            form = {"error": error, "chosen": chosen, "note": note, "refuses": not tried}
            return item(number, sample.model_copy(update=tried), form), 400
        if read:
            together = "together" in request.form
            sample = answered(
                sample, ticked, answer, run.chunks, together=together, reviewer=reviewer
            )
        said = Review(
            sample_id=sample.id,
            reviewer=reviewer,
            verdict="refused" if is_refused else "signed",
            reasons=tuple(chosen) if is_refused else (),
            note=note,
        )
        with Store(database) as store:
            if sample is not samples[number - 1]:
                store.settle(sample)
                write_files(store)
                samples[number - 1] = sample
            store.add_review(said)
        return go_on(number)

    @app.after_request
    def protect(response: Response) -> Response:
        response.headers.update(_HEADERS)
        return response

    @app.errorhandler(404)
    def unknown(_: HTTPException) -> AnyResponse:
        return make_response(_UNKNOWN, 404, {"Content-Type": "text/plain"})

    @app.errorhandler(GroundsetError)
    def failed(error: GroundsetError) -> AnyResponse:
        return make_response(
            f"{error}\nSolve it, go back and submit again.\n", 500, {"Content-Type": "text/plain"}
        )

    return app


@contextmanager
def serving(run: Run, reviewer: str, port: int = 0) -> Iterator[str]:
    """Serve the review of a run in the background and yield the address, which contains a token.

    Raises:
        InputError: the port is not available; 0 is any free one.
        RunError: the run is damaged or cannot be written.
    """
    Store(run.folder / DATABASE).close()  # reviews are kept in it
    token = secrets.token_urlsafe(18)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # paths of requests contain the token
    try:
        listener = socket.create_server((_HOST, port))
    except OSError as error:
        raise InputError(
            f"--port {port}: {error.strerror or error}; choose another port"
        ) from error
    with listener:
        server = make_server(
            _HOST,
            port,
            make_app(run, reviewer, token),
            threaded=True,
            fd=listener.fileno(),
        )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{_HOST}:{server.port}/{token}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def shown_in_browser(address: str) -> Iterator[None]:
    """Open an address in a graphical browser, if there is one.

    The browser opens a private file that leads to the address: process arguments are visible to
    other users, and the address contains the token.
    """
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    with TemporaryDirectory(prefix="groundset-") as folder:
        page = Path(folder, "review.html")
        page.write_text(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">',
            encoding="utf-8",
        )
        if sys.platform in ("darwin", "win32") or any(name in os.environ for name in names):
            webbrowser.open(page.as_uri())
        yield
