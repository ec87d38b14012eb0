"""Argilla: a dataset for ``rg.Dataset.from_disk``, to review questions in Argilla.

| file | content |
|---|---|
| `.argilla/dataset.json`, `.argilla/settings.json` | the name of the dataset; its fields and questions |
| `records.json` | a record for each sample, with suggestions |
| `responses.json` | the records of reviewed samples, with all verdicts |
| `readers.json` | the reviewers, as Argilla users |

The schema is that of ``Dataset.to_disk`` in Argilla 2.8.0 (``argilla/datasets/_io/_disk.py``,
``argilla/records/_resource.py``, ``argilla/settings/_resource.py``). A server rejects responses of unknown users, so
`responses.json` is a separate file, to be imported after the users were created.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from groundset.review.reasons import QUESTION_REASONS
from groundset.sets.exports.base import Export, question_row, write_json
from groundset.store.reviews import Review, latest_reviews
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.run import Run

SETTINGS_FOLDER = ".argilla"
RECORDS_FILE = "records.json"
RESPONSES_FILE = "responses.json"
READERS_FILE = "readers.json"
_AGENT = "groundset"
_FILTERS = {
    **dict.fromkeys(("evolution", "kind", "language", "split", "paths"), "terms"),
    "rank": "integer",
    "probability": "float",
}
_GUIDELINES = """\
Sign a question if somebody who has not seen the passages would understand it, if the passages answer it, and if the \
answer is right and complete. A question is unanswerable if its answer says that the documents do not say; sign it if \
that is true. Correct what only needs another wording; refuse what cannot be corrected, and say why."""


def write_argilla(run: "Run", folder: Path) -> None:
    """Write the dataset, its records, and existing reviews."""
    by_sample: dict[str, list[Review]] = {}
    for review in latest_reviews(run.reviews):
        if review.kind == "sample":
            by_sample.setdefault(review.item, []).append(review)
    reviewed = [sample for sample in run.samples if sample.id in by_sample]
    reviews = [review for sample in reviewed for review in by_sample[sample.id]]
    reviewers = dict.fromkeys(review.reader for review in reviews)
    reasons = [review.reason for review in reviews if review.reason]

    (folder / SETTINGS_FOLDER).mkdir()
    write_json(folder / SETTINGS_FOLDER / "dataset.json", {"name": _name(run.identity)})
    write_json(folder / SETTINGS_FOLDER / "settings.json", dataset_settings(reasons))
    write_json(folder / READERS_FILE, [{"id": reviewer_id(name), "username": name} for name in reviewers])
    write_json(folder / RESPONSES_FILE, [record(sample, by_sample[sample.id]) for sample in reviewed])
    write_json(folder / RECORDS_FILE, [record(sample) for sample in run.samples])


def dataset_settings(used_reasons: Iterable[str]) -> dict[str, Any]:
    """Return the fields, questions and metadata of the dataset.

    ``used_reasons`` are the reasons in existing reviews: a server rejects responses that are not among the options.
    """
    reasons = {name: name for name in used_reasons} | {reason.name: reason.words for reason in QUESTION_REASONS}
    return {
        "guidelines": _GUIDELINES,
        "allow_extra_metadata": True,
        "fields": [_text("question"), _text("answer"), _text("contexts")],
        "questions": [
            _choice("verdict", {"good": "good", "bad": "bad"}, title="Would you sign it?"),
            _choice("reason", reasons, title="Why is it bad?", required=False),
            _text("mended_question", title="The question as it should be", required=False),
            _text("mended_answer", title="The answer as it should be", required=False),
        ],
        "metadata": [{"name": name, "settings": {"type": kind}} for name, kind in _FILTERS.items()],
    }


def record(sample: Sample, reviews: Sequence[Review] = ()) -> dict[str, Any]:
    """Return a sample as a record; ``reviews`` become its responses."""
    row = question_row(sample)
    return {
        "id": sample.id,
        "fields": {"question": sample.question, "answer": sample.answer, "contexts": _joined(sample.contexts)},
        "metadata": {name: row[name] for name in (*_FILTERS, "chunk_ids", "retrieval_gt") if row[name] is not None},
        "suggestions": {
            "verdict": {**_verdict(sample), "agent": _AGENT, "type": "model"},
            "mended_question": {"value": sample.question, "agent": _AGENT, "type": "model"},
            "mended_answer": {"value": sample.answer, "agent": _AGENT, "type": "model"},
        },
        "responses": _responses(reviews),
    }


def reviewer_id(reader: str) -> str:
    """Derive the user id of a reviewer from the name."""
    return str(uuid5(NAMESPACE_URL, f"groundset:reader:{reader}"))


def _verdict(sample: Sample) -> dict[str, Any]:
    """Return the verdict of the judge and its probability; imported sets also hold questions it refused."""
    verdicts = [
        record.verdict
        for record in sample.trail
        if record.step == "judge" and record.output.get("question", sample.question) == sample.question
    ]
    if verdicts[-1:] == ["bad"]:
        return {"value": "bad", "score": round(1 - sample.probability, 4)}
    return {"value": "good", "score": sample.probability}


def _responses(reviews: Iterable[Review]) -> dict[str, list[dict[str, Any]]]:
    responses: dict[str, list[dict[str, Any]]] = {}
    for review in reviews:
        answers = {
            "verdict": review.verdict,
            "reason": review.reason,
            "mended_question": review.question,
            "mended_answer": review.answer,
        }
        for question, value in answers.items():
            if value is not None:
                response = {"value": value, "user_id": reviewer_id(review.reader), "status": "submitted"}
                responses.setdefault(question, []).append(response)
    return responses


def _joined(contexts: Iterable[Chunk]) -> str:
    """Join the chunks, each under its topic."""
    return "\n\n\n".join(f"{chunk.topic}\n\n{chunk.text}" if chunk.topic else chunk.text for chunk in contexts)


def _text(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "settings": {"type": "text"}, **more}


def _choice(name: str, options: Mapping[str, str], **more: Any) -> dict[str, Any]:
    rows = [{"value": value, "text": words} for value, words in options.items()]
    return {"name": name, "settings": {"type": "label_selection", "options": rows}, **more}


def _name(identity: str | None) -> str:
    """Return the name of the dataset, unique to the run."""
    return f"groundset-{identity[:8]}" if identity else "groundset"


EXPORT = Export(
    "argilla",
    "records.json and settings for Argilla",
    write_argilla,
    (SETTINGS_FOLDER, RECORDS_FILE, RESPONSES_FILE, READERS_FILE),
    last=RECORDS_FILE,
    corpus=False,
)
