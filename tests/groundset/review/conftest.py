"""Small runs to be read, and the pages of a desk over HTTP in this process."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from groundset.review.desk import Desk
from groundset.review.pages import make_app
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
    """The pages of a desk, asked for without a browser."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.client = make_app(desk, TOKEN).test_client()

    def get(self, path: str = "", *, status: int = 200, **headers: str) -> str:
        return self._text(self.client.get(f"/{TOKEN}/{path}", headers=headers, follow_redirects=True), status)

    def post(self, path: str, *, status: int = 200, **form: str) -> str:
        return self._text(self.client.post(f"/{TOKEN}/{path}", data=form, follow_redirects=True), status)

    def say(self, place: int, do: str, **form: str) -> str:
        item = self.desk.items[place]
        seen = form.pop("seen", str(self.desk.number(item)))
        return self.post(f"item/{item.key}", do=do, seen=seen, **form)

    @staticmethod
    def _text(answer: Any, status: int) -> str:
        assert answer.status_code == status, answer.text
        return answer.text


@pytest.fixture
def read() -> Iterator[Callable[..., Page]]:
    """Open a desk and its pages; it is closed after the test."""
    opened: list[Desk] = []

    def read(*folders: Path, reader: str = "reader", **options: Any) -> Page:
        opened.append(Desk(list(folders), reader, **options))
        return Page(opened[-1])

    yield read
    for desk in opened:
        desk.__exit__()
