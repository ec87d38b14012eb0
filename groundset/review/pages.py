"""The pages of a review and what their forms do. Everything that is shown is escaped by the templates."""

import re
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from flask import Blueprint, Flask, abort, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from groundset.printing import printable
from groundset.review.access import LONGEST_BODY, guard, receive
from groundset.review.filters import FACTS, STATES, Filter, choices
from groundset.review.items import review_item
from groundset.review.reasons import SIGN_KEY, WORDS, reasons_for
from groundset.review.results import agreements, openly_reviewed, pairwise_tests, progress_of, run_shares
from groundset.review.session import ListedItem, ReviewSession
from groundset.store.reviews import Review
from programs.errors import GroundsetError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_ON_A_PAGE = 100
_SUGGESTED = 200  # documents
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def make_app(session: ReviewSession, token: str) -> Flask:
    """Return the application that serves a review session below ``/token/``, one request at a time."""
    app = Flask("groundset.review", static_folder=None)
    app.config.update(MAX_CONTENT_LENGTH=LONGEST_BODY, MAX_FORM_MEMORY_SIZE=LONGEST_BODY)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters["shown"] = lambda text: printable(text, lines=True)
    app.jinja_env.filters["tidy"] = _tidy
    app.jinja_env.globals.update(words=WORDS, sign_key=SIGN_KEY)
    guard(app, token)
    app.register_blueprint(_pages(session), url_prefix=f"/{token}")
    answer, turn = app.wsgi_app, threading.Lock()

    def in_turn(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        try:
            receive(environ)  # a body that comes slowly keeps nobody else waiting
        except HTTPException as refused:
            return refused(environ, start_response)
        with turn:
            return answer(environ, start_response)

    app.wsgi_app = in_turn  # type: ignore[method-assign]
    return app


def _pages(session: ReviewSession) -> Blueprint:
    pages = Blueprint("pages", "groundset.review", static_folder="static", template_folder="templates")

    def current_filter() -> Filter:
        return Filter.of(request.args, blind=session.blind)

    def item_of(key: str) -> ListedItem:
        return session.item(key) or abort(404)

    def go(page: str, **values: Any) -> Response:
        values.update(current_filter().query)
        return redirect(url_for(f"pages.{page}", **values), 303)

    def go_on(current: ListedItem | None, **values: Any) -> Response:
        following = session.next(current_filter(), current)
        return go("show", key=following.key, **values) if following else go("done", **values)

    @pages.before_request
    def refresh() -> None:
        if request.endpoint != "pages.static":
            session.refresh()

    @pages.errorhandler(GroundsetError)
    def explain(error: GroundsetError) -> tuple[str, int]:
        return render_template("message.html", error=str(error)), 500

    @pages.context_processor
    def everywhere() -> dict[str, Any]:
        return {
            "review_session": session,  # Flask has a `session` of its own
            "query": current_filter().query,
            "progress": progress_of(session),
            "agreements": [] if session.blind else agreements(session),
            "message": request.args.get("message", ""),
        }

    def before_this() -> dict[str, Any]:
        """Return what the note about the item before this one shows: its verdict, and those of others."""
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
        return go_on(None)

    @pages.get("/next/<key>")
    def next_item(key: str) -> Response:
        return go_on(item_of(key))

    @pages.get("/item/<key>")
    def show(key: str) -> str:
        return render(item_of(key))

    def render(item: ListedItem, error: str = "", given: Mapping[str, str] | None = None) -> str:
        return render_template(
            "item.html",
            item=item,
            number=session.place(item) + 1,
            seen=session.latest(item).number,
            state=session.state(item),
            own=session.own(item),
            others=session.others(item),
            card=review_item(session, item),
            reasons=reasons_for(item.entry),
            back=session.item(request.args.get("after", "")) or session.previous(current_filter(), item),
            error=error,
            given=given or {},
            **before_this(),
        )

    @pages.post("/item/<key>")
    def submit(key: str) -> Response | tuple[str, int]:
        item, do, seen = item_of(key), request.form.get("do", ""), request.form.get("seen", None, int)
        if do == "skip":
            session.skip(item)
            return go_on(item)
        texts: dict[str, str | None] = {}
        if do == "correct":
            card = review_item(session, item)
            texts = {name: _tidy(request.form.get(name, "")) for name in ("question", "answer")}
            if not texts["question"] or (card.first_answer and not texts["answer"]):
                return render(item, "A question and an answer cannot be empty.", request.form), 400
            first = {"question": _tidy(card.first_question), "answer": _tidy(card.first_answer)}
            texts = {name: None if text == first[name] else text for name, text in texts.items()}
        elif do == "sign":
            shown = session.own_at(item, seen)
            if shown and shown.verdict == "good":  # what is signed is what was shown
                texts = {"question": shown.question, "answer": shown.answer}
        elif do not in {reason.name for reason in reasons_for(item.entry)}:
            abort(400)
        verdict, reason = _verdict(do)
        before = session.submit(item, verdict, reason=reason, seen=seen, **texts)
        return go_on(item, after=item.key, **_meanwhile(before))

    @pages.post("/undo")
    def undo() -> Response:
        items = session.undo()
        if not items:
            return go_on(None, message="nothing-to-undo")
        if len(items) > 1:
            return go("listing", message="undone-all")
        return go("show", key=items[0].key, message="undone")

    @pages.get("/list")
    def listing() -> str:
        found = list(session.matching(current_filter()))
        page = max(1, request.args.get("page", 1, int))
        shown = found[(page - 1) * _ON_A_PAGE :][:_ON_A_PAGE]
        return render_template(
            "list.html",
            found=len(found),
            rows=[(item, session.state(item), session.own(item)) for item in shown],
            page=page,
            pages=-(-len(found) // _ON_A_PAGE),
            facts=FACTS,
            states=STATES,
            choices={} if session.blind else choices((session.names[item.run], item.entry) for item in session.items),
            suggested=_SUGGESTED,
            reasons=list(dict.fromkeys(reason for item in found for reason in reasons_for(item.entry))),
        )

    @pages.post("/all")
    def submit_all() -> Response | str:
        do = request.form.get("do", "")
        if do != "sign" and do not in WORDS:
            abort(400)
        found = list(session.matching(current_filter()))
        items = [
            item
            for item in found
            if session.state(item) in ("unread", "skipped")
            and (do == "sign" or do in {reason.name for reason in reasons_for(item.entry)})
        ]
        if request.form.get("count", -1, int) != len(items):  # not confirmed yet, or there are others by now
            return render_template("confirm.html", do=do, items=items, kept=len(found) - len(items))
        verdict, reason = _verdict(do)
        session.submit_all(items, verdict, reason)
        return go("listing", message="stored-for-all")

    @pages.get("/done")
    def done() -> str:
        return render_template("done.html", found=sum(1 for _ in session.matching(current_filter())), **before_this())

    @pages.route("/result", methods=["GET", "POST"])
    def result() -> Response | str:
        if request.method == "POST":
            session.blind = False
            return go("result")
        if session.blind:
            return render_template("reveal.html")
        return render_template(
            "result.html", shares=run_shares(session), tests=pairwise_tests(session), openly=openly_reviewed(session)
        )

    return pages


def _verdict(do: str) -> tuple[Literal["good", "bad"], str | None]:
    return ("good", None) if do in ("sign", "correct") else ("bad", do)


def _tidy(text: str) -> str:
    """Return a text as it comes back from a field that nobody changed: plain line ends, no control characters."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n")).strip()


def _meanwhile(before: Review | None) -> dict[str, str]:
    """Return what the next page says if another tab had been quicker."""
    if before is None:
        return {}
    return {"message": {"good": "was-signed", "bad": "was-refused", None: "was-taken-back"}[before.verdict]}
