"""Reviews of the samples and rejects of a run: the table ``reviews`` of its database.

Every click adds a row, and nothing is ever changed: what a reader said last about an item stands. A reader who takes
a verdict back adds a row without one. Rows that one click made share its name, so that undoing it finds them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from groundset.store.database import Database
from programs.types import Sample

REVIEWS_SCHEMA = """
CREATE TABLE IF NOT EXISTS reviews (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, item TEXT NOT NULL,
    reader TEXT NOT NULL, verdict TEXT, record TEXT NOT NULL)
"""


class Review(BaseModel):
    """The review of one sample or reject by one reviewer.

    Attributes:
        kind: what was read.
        item: the id of the sample, or the place of the reject in the run.
        reader: who read it, by a name of their own choosing.
        verdict: ``good`` signs it, ``bad`` refuses it, None takes back what the reader said before.
        reason: why it is bad: a word of :mod:`programs.reasons`.
        question, answer: what the reader wrote in place of the text that was read; None leaves it as it was.
        blind: whether the run that it comes from was hidden.
        skipped: put off without a verdict.
        click: the name of the click that made this row; one verdict for many items is one click.
        undoes: the name of the click that this row takes back; it then holds what the reader had said before that.
        read_at: when, in UTC.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["sample", "reject"] = "sample"
    item: str
    reader: str = "reader"
    verdict: Literal["good", "bad"] | None
    reason: str | None = None
    question: str | None = None
    answer: str | None = None
    blind: bool = False
    skipped: bool = False
    click: str | None = None
    undoes: str | None = None
    read_at: datetime = Field(default_factory=lambda: datetime.now(UTC))


class ReviewTable:
    """The reviews of a run, in the order in which they were given."""

    def __init__(self, database: Database) -> None:
        """Use the table in ``database``; runs without reviews have none."""
        self._database = database

    def prepare(self) -> None:
        """Create the table if it is missing, which also shows that the run can be written.

        Raises:
            RunError: it cannot.
        """
        with self._database.transaction():
            self._database.execute(REVIEWS_SCHEMA)

    def add(self, *reviews: Review) -> None:
        """Store reviews, all or none; they are committed when this returns."""
        # Made first: whoever else works on the run waits while the transaction is open.
        rows = [(each.kind, each.item, each.reader, each.verdict, each.model_dump_json()) for each in reviews]
        with self._database.transaction():
            self._database.execute(REVIEWS_SCHEMA)
            self._database.insert(
                "INSERT INTO reviews (kind, item, reader, verdict, record) VALUES (?, ?, ?, ?, ?)", iter(rows)
            )

    def all(self) -> list[Review]:
        """Return every row, withdrawn reviews among them."""
        return list(self.after(0).values())

    def after(self, number: int) -> Mapping[int, Review]:
        """Return the rows that came after a number, by their numbers, which count from 1."""
        if not self._database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'reviews'"):
            return {}
        statement = "SELECT number, record FROM reviews WHERE number > ? ORDER BY number"
        return dict(self._database.read(lambda at, row: (at, Review.model_validate_json(row)), statement, (number,)))


class Consensus(NamedTuple):
    """The consensus of all reviewers of a sample.

    ``verdict`` is ``good`` if all signed it, ``bad`` if all refused it, else ``disputed``; the texts are those of the
    last reader who signed it with another wording, so that question and answer are a pair that somebody signed.
    """

    verdict: Literal["good", "bad", "disputed"]
    question: str | None
    answer: str | None


def latest_reviews(reviews: Iterable[Review]) -> list[Review]:
    """Return the last review of each item by each reviewer, the earliest first; ``reviews`` are in order of rows."""
    last = {(review.kind, review.item, review.reader): review for review in reviews}
    return sorted((review for review in last.values() if review.verdict), key=lambda review: review.read_at)


def consensus_by_item(reviews: Iterable[Review], kind: Literal["sample", "reject"] = "sample") -> dict[str, Consensus]:
    """Return the consensus on each item, from the last reviews of each reviewer."""
    by_item: dict[str, list[Review]] = {}
    for review in reviews:
        if review.kind == kind and review.verdict:
            by_item.setdefault(review.item, []).append(review)
    return {item: _consensus(found) for item, found in by_item.items()}


def corrected(sample: Sample, consensus: Consensus | None) -> Sample:
    """Return a sample with the corrections of its reviewers."""
    texts = {"question": consensus.question, "answer": consensus.answer} if consensus else {}
    return sample.model_copy(update={name: text for name, text in texts.items() if text is not None})


def _consensus(reviews: Sequence[Review]) -> Consensus:
    verdicts = {review.verdict for review in reviews}
    good = [review for review in reviews if review.verdict == "good"]
    texts = [(each.question, each.answer) for each in good if (each.question, each.answer) != (None, None)]
    verdict: Literal["good", "bad", "disputed"] = "disputed"
    if len(verdicts) == 1:
        verdict = "good" if good else "bad"
    return Consensus(verdict, *(texts[-1] if texts else (None, None)))
