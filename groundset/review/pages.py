"""The pages and forms of a review. Templates escape all values."""

import re
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from flask import Blueprint, Flask, abort, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from groundset.printing import printable
from groundset.review.access import MAX_BODY_BYTES, guard, receive
from groundset.review.filters import FACTS, STATES, Filter, choices
from groundset.review.items import review_item
from groundset.review.reasons import SIGN_KEY, WORDS, reasons_for
from groundset.review.results import agreements, count_unblinded, pairwise_tests, progress_of, run_shares
from groundset.review.session import ListedItem, ReviewSession
from groundset.store.reviews import Review
from programs.errors import GroundsetError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_PAGE_SIZE = 100
_MAX_SUGGESTIONS = 200  # documents
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def make_app(session: ReviewSession, token: str) -> Flask:
    """Build the application that serves a review session below ``/token/``, one request at a time."""
    app = Flask("groundset.review", static_folder=None)
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=MAX_BODY_BYTES)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters["shown"] = lambda text: printable(text, lines=True)
    app.jinja_env.filters["tidy"] = _tidy
    app.jinja_env.globals.update(words=WORDS, sign_key=SIGN_KEY)
    guard(app, token)
    app.register_blueprint(_pages(session), url_prefix=f"/{token}")
    handle, lock = app.wsgi_app, threading.Lock()

    def serialised(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        try:
            receive(environ)  # outside the lock, so that slow clients do not block others
        except HTTPException as error:
            return error(environ, start_response)
        with lock:
            return handle(environ, start_response)

    app.wsgi_app = serialised  # type: ignore[method-assign]
    return app


def _pages(session: ReviewSession) -> Blueprint:
    pages = Blueprint("pages", "groundset.review", static_folder="static", template_folder="templates")

    def current_filter() -> Filter:
        return Filter.of(request.args, blind=session.blind)

    def item_of(key: str) -> ListedItem:
        return session.item(key) or abort(404)

    def redirect_to(page: str, **values: Any) -> Response:
        values.update(current_filter().query)
        return redirect(url_for(f"pages.{page}", **values), 303)

    def redirect_to_next(current: ListedItem | None, **values: Any) -> Response:
        following = session.next(current_filter(), current)
        return redirect_to("show", key=following.key, **values) if following else redirect_to("done", **values)

    @pages.before_request
    def refresh() -> None:
        if request.endpoint != "pages.static":
            session.refresh()

    @pages.errorhandler(GroundsetError)
    def show_error(error: GroundsetError) -> tuple[str, int]:
        return render_template("message.html", error=str(error)), 500

    @pages.context_processor
    def common_values() -> dict[str, Any]:
        return {
            "review_session": session,  # Flask has a `session` of its own
            "query": current_filter().query,
            "progress": progress_of(session),
            "agreements": [] if session.blind else agreements(session),
            "message": request.args.get("message", ""),
        }

    def previous_item_note() -> dict[str, Any]:
        """Return the values of the note on the item reviewed before."""
        item = session.item(request.args.get("after", ""))
        if item is None:
            return {"after": None}
        return {
            "after": item,
            "after_own": session.own(item),
            "after_card": review_item(session, item),
            "after_others": session.others(item),
        }

    @pages.get("/")
    def start() -> Response:
        return redirect_to_next(None)

    @pages.get("/next/<key>")
    def next_item(key: str) -> Response:
        return redirect_to_next(item_of(key))

    @pages.get("/item/<key>")
    def show(key: str) -> str:
        return render(item_of(key))

    def render(item: ListedItem, error: str = "", form: Mapping[str, str] | None = None) -> str:
        return render_template(
            "item.html",
            item=item,
            number=session.index(item) + 1,
            seen=session.latest(item).number,
            state=session.state(item),
            own=session.own(item),
            others=session.others(item),
            card=review_item(session, item),
            reasons=reasons_for(item.entry),
            back=session.item(request.args.get("after", "")) or session.previous(current_filter(), item),
            error=error,
            form=form or {},
            **previous_item_note(),
        )

    @pages.post("/item/<key>")
    def submit(key: str) -> Response | tuple[str, int]:
        item, do, seen = item_of(key), request.form.get("do", ""), request.form.get("seen", None, int)
        if do == "skip":
            session.skip(item)
            return redirect_to_next(item)
        texts: dict[str, str | None] = {}
        if do == "correct":
            card = review_item(session, item)
            texts = {name: _tidy(request.form.get(name, "")) for name in ("question", "answer")}
            if not texts["question"] or (card.first_answer and not texts["answer"]):
                return render(item, "Question and answer must not be empty.", request.form), 400
            first = {"question": _tidy(card.first_question), "answer": _tidy(card.first_answer)}
            texts = {name: None if text == first[name] else text for name, text in texts.items()}
        elif do == "sign":
            displayed = session.own_at(item, seen)
            if displayed and displayed.verdict == "good":  # keep the corrections that the page displayed
                texts = {"question": displayed.question, "answer": displayed.answer}
        elif do not in {reason.name for reason in reasons_for(item.entry)}:
            abort(400)
        verdict, reason = _verdict(do)
        replaced = session.submit(item, verdict, reason=reason, seen=seen, **texts)
        return redirect_to_next(item, after=item.key, **_conflict_message(replaced))

    @pages.post("/undo")
    def undo() -> Response:
        items = session.undo()
        if not items:
            return redirect_to_next(None, message="nothing-to-undo")
        if len(items) > 1:
            return redirect_to("listing", message="undone-all")
        return redirect_to("show", key=items[0].key, message="undone")

    @pages.get("/list")
    def listing() -> str:
        matches = list(session.matching(current_filter()))
        page = max(1, request.args.get("page", 1, int))
        on_page = matches[(page - 1) * _PAGE_SIZE :][:_PAGE_SIZE]
        return render_template(
            "list.html",
            matches=len(matches),
            rows=[(item, session.state(item), session.own(item)) for item in on_page],
            page=page,
            pages=-(-len(matches) // _PAGE_SIZE),
            facts=FACTS,
            states=STATES,
            choices={} if session.blind else choices((session.names[item.run], item.entry) for item in session.items),
            max_suggestions=_MAX_SUGGESTIONS,
            reasons=list(dict.fromkeys(reason for item in matches for reason in reasons_for(item.entry))),
        )

    @pages.post("/all")
    def submit_all() -> Response | str:
        do = request.form.get("do", "")
        if do != "sign" and do not in WORDS:
            abort(400)
        matches = list(session.matching(current_filter()))
        items = [
            item
            for item in matches
            if session.state(item) in ("unread", "skipped")
            and (do == "sign" or do in {reason.name for reason in reasons_for(item.entry)})
        ]
        if request.form.get("count", -1, int) != len(items):  # not confirmed, or the items have changed
            return render_template("confirm.html", do=do, items=items, kept=len(matches) - len(items))
        verdict, reason = _verdict(do)
        session.submit_all(items, verdict, reason)
        return redirect_to("listing", message="stored-for-all")

    @pages.get("/done")
    def done() -> str:
        matches = sum(1 for _ in session.matching(current_filter()))
        return render_template("done.html", matches=matches, **previous_item_note())

    @pages.route("/result", methods=["GET", "POST"])
    def result() -> Response | str:
        if request.method == "POST":
            session.blind = False
            return redirect_to("result")
        if session.blind:
            return render_template("reveal.html")
        return render_template(
            "result.html", shares=run_shares(session), tests=pairwise_tests(session), unblinded=count_unblinded(session)
        )

    return pages


def _verdict(do: str) -> tuple[Literal["good", "bad"], str | None]:
    return ("good", None) if do in ("sign", "correct") else ("bad", do)


def _tidy(text: str) -> str:
    """Normalise a text like an unchanged form field: line feeds only, no control characters."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n")).strip()


def _conflict_message(replaced: Review | None) -> dict[str, str]:
    """Return the message parameter if another tab had stored a review in the meantime."""
    if replaced is None:
        return {}
    return {"message": {"good": "was-signed", "bad": "was-refused", None: "was-taken-back"}[replaced.verdict]}
