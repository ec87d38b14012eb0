"""Reviews of the samples and rejects of a run: the table ``reviews`` of its database.

Append-only: the latest review of an item by each reviewer counts. A withdrawal is a row without a verdict. Rows from
one click share its name, so that it can be undone.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

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
        kind: ``sample`` or ``reject``.
        item: the id of the sample, or the position of the reject in the run.
        reader: the name of the reviewer.
        verdict: ``good`` accepts it, ``bad`` refuses it, None withdraws the reviewer's earlier verdict.
        reason: why it is bad: a name in :mod:`programs.reasons`.
        question, answer: the corrected text, None if unchanged.
        blind: whether the name of its run was hidden.
        skipped: whether it was skipped without a verdict.
        click: the name of the click that added this row; a verdict on several items is one click.
        undoes: the name of the click that this row undoes, by repeating the review before it.
        read_at: the time, in UTC.
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
        """Use the table in ``database``, which may be missing."""
        self._database = database

    def prepare(self) -> None:
        """Create the table if it is missing.

        Raises:
            RunError: the run cannot be written.
        """
        with self._database.transaction():
            self._database.execute(REVIEWS_SCHEMA)

    def add(self, *reviews: Review) -> None:
        """Store reviews, all or none; they are committed when this returns."""
        # Computed first: other processes wait while the transaction is open.
        rows = [(each.kind, each.item, each.reader, each.verdict, each.model_dump_json()) for each in reviews]
        with self._database.transaction():
            self._database.execute(REVIEWS_SCHEMA)
            self._database.insert(
                "INSERT INTO reviews (kind, item, reader, verdict, record) VALUES (?, ?, ?, ?, ?)", iter(rows)
            )

    def all(self) -> list[Review]:
        """Return every row, including withdrawn reviews."""
        return list(self.after(0).values())

    def after(self, number: int) -> Mapping[int, Review]:
        """Return the rows after a row number, by their numbers, from 1."""
        if not self._database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'reviews'"):
            return {}
        statement = "SELECT number, record FROM reviews WHERE number > ? ORDER BY number"
        return dict(self._database.read(lambda at, row: (at, Review.model_validate_json(row)), statement, (number,)))


class Consensus(NamedTuple):
    """The consensus of all reviewers of an item.

    ``verdict`` is ``good`` if all accepted it, ``bad`` if all refused it, else ``disputed``. The texts are the latest
    correction by a reviewer who accepted the item; both come from the same review.
    """

    verdict: Literal["good", "bad", "disputed"]
    question: str | None
    answer: str | None


def latest_reviews(reviews: Iterable[Review]) -> list[Review]:
    """Return the latest review of each item by each reviewer, the earliest first; ``reviews`` are in row order."""
    last = {(review.kind, review.item, review.reader): review for review in reviews}
    return sorted((review for review in last.values() if review.verdict), key=lambda review: review.read_at)


def consensus_by_item(reviews: Iterable[Review], kind: Literal["sample", "reject"] = "sample") -> dict[str, Consensus]:
    """Return the consensus on each item from :func:`latest_reviews`."""
    by_item: dict[str, list[Review]] = {}
    for review in reviews:
        if review.kind == kind and review.verdict:
            by_item.setdefault(review.item, []).append(review)
    return {item: _consensus(found) for item, found in by_item.items()}


def corrected(sample: Sample, consensus: Consensus | None) -> Sample:
    """Return a sample with its reviewers' corrections; a corrected answer loses its other wordings."""
    texts = {"question": consensus.question, "answer": consensus.answer} if consensus else {}
    changes: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    if "answer" in changes:
        changes["metadata"] = {name: value for name, value in sample.metadata.items() if name != "answer_variants"}
    return sample.model_copy(update=changes)


def _consensus(reviews: Sequence[Review]) -> Consensus:
    verdicts = {review.verdict for review in reviews}
    good = [review for review in reviews if review.verdict == "good"]
    texts = [(each.question, each.answer) for each in good if (each.question, each.answer) != (None, None)]
    verdict: Literal["good", "bad", "disputed"] = "disputed"
    if len(verdicts) == 1:
        verdict = "good" if good else "bad"
    return Consensus(verdict, *(texts[-1] if texts else (None, None)))
