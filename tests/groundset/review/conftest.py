"""Small runs and the pages of a review session."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from groundset.review.pages import make_app
from groundset.review.session import ReviewSession
from programs.types import Reject

sys.path.insert(0, str(Path(__file__).parent))

TOKEN = "token"


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Make a run of so many samples; ``asked`` are others than the usual questions."""
    import small_run

    def make(
        name: str = "run",
        samples: int = 4,
        asked: Sequence[tuple[str, str]] = small_run.ASKED,
        rejects: Sequence[Reject] = (),
    ) -> Path:
        return small_run.make_run(tmp_path / name, asked[:samples], rejects)

    return make


class Page:
    """The pages of a session, asked for without a browser."""

    def __init__(self, session: ReviewSession) -> None:
        self.session = session
        self.client = make_app(session, TOKEN).test_client()

    def get(self, path: str = "", *, status: int = 200) -> str:
        return self._text(self.client.get(f"/{TOKEN}/{path}", follow_redirects=True), status)

    def item(self, place: int, query: str = "") -> str:
        return self.get(f"item/{self.session.items[place].key}{query}")

    def post(self, path: str, *, status: int = 200, **form: str) -> str:
        return self._text(self.client.post(f"/{TOKEN}/{path}", data=form, follow_redirects=True), status)

    def submit(self, place: int, do: str, *, status: int = 200, **form: str) -> str:
        item = self.session.items[place]
        return self.post(f"item/{item.key}", status=status, do=do, **{"seen": str(self.number(place)), **form})

    def number(self, place: int) -> int:
        return self.session.latest(self.session.items[place]).number

    def own(self, place: int) -> Any:
        return self.session.own(self.session.items[place])

    def states(self) -> list[str]:
        return [self.session.state(item) for item in self.session.items]

    @staticmethod
    def _text(answer: Any, status: int) -> str:
        assert answer.status_code == status, answer.text
        return answer.text


@pytest.fixture
def review() -> Iterator[Callable[..., Page]]:
    """Open a session and its pages; it is closed after the test."""
    with ExitStack() as stack:

        def review(*folders: Path, reviewer: str = "reader", **options: Any) -> Page:
            return Page(stack.enter_context(ReviewSession(list(folders), reviewer, **options)))

        yield review
