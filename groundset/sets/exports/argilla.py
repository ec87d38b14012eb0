"""Argilla: a dataset as ``rg.Dataset.from_disk`` reads it, for people to review the questions there.

| file | what it holds |
|---|---|
| `.argilla/dataset.json`, `.argilla/settings.json` | the dataset's name; what is shown, what is asked |
| `records.json` | a record for each sample, with suggestions |
| `responses.json` | the records that were reviewed before, with every verdict |
| `readers.json` | the reviewers, as users of a server |

The schema is what ``Dataset.to_disk`` writes, read off the source of Argilla 2.8.0 (``argilla/datasets/_io/_disk.py``,
``argilla/records/_resource.py``, ``argilla/settings/_resource.py``). A server refuses responses of users that it does
not have, so these are apart: `records.json` goes into any server, `responses.json` once its readers are there.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from groundset.review.reasons import OF_QUESTIONS
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
answer is right and complete. Correct what only needs another wording; refuse what cannot be corrected, and say why."""


def write_argilla(run: "Run", folder: Path) -> None:
    """Write the dataset."""
    by_sample: dict[str, list[Review]] = {}
    for review in latest_reviews(run.reviews):
        if review.kind == "sample":
            by_sample.setdefault(review.item, []).append(review)
    reviewed = [sample for sample in run.samples if sample.id in by_sample]
    heard = [review for sample in reviewed for review in by_sample[sample.id]]
    readers = dict.fromkeys(review.reader for review in heard)
    reasons = [review.reason for review in heard if review.reason]

    (folder / SETTINGS_FOLDER).mkdir()
    write_json(folder / SETTINGS_FOLDER / "dataset.json", {"name": _name(run.identity)})
    write_json(folder / SETTINGS_FOLDER / "settings.json", dataset_settings(reasons))
    write_json(folder / READERS_FILE, [{"id": reader_id(name), "username": name} for name in readers])
    write_json(folder / RESPONSES_FILE, [record(sample, by_sample[sample.id]) for sample in reviewed])
    write_json(folder / RECORDS_FILE, [record(sample) for sample in run.samples])


def dataset_settings(given: Iterable[str]) -> dict[str, Any]:
    """Return what is shown (fields), what is asked (questions) and what can be filtered by (metadata).

    ``given`` are the reasons that reviewers gave: a server refuses those that cannot be chosen.
    """
    reasons = {name: name for name in given} | {reason.name: reason.words for reason in OF_QUESTIONS}
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
        "fields": {"question": sample.question, "answer": sample.answer, "contexts": _shown(sample.contexts)},
        "metadata": {name: row[name] for name in (*_FILTERS, "chunk_ids", "retrieval_gt") if row[name] is not None},
        "suggestions": {
            "verdict": {**_verdict(sample), "agent": _AGENT, "type": "model"},
            "mended_question": {"value": sample.question, "agent": _AGENT, "type": "model"},
            "mended_answer": {"value": sample.answer, "agent": _AGENT, "type": "model"},
        },
        "responses": _responses(reviews),
    }


def reader_id(reader: str) -> str:
    """Return the id of a reviewer as a user; the same name always has the same one."""
    return str(uuid5(NAMESPACE_URL, f"groundset:reader:{reader}"))


def _verdict(sample: Sample) -> dict[str, Any]:
    """Return the verdict of the critic and its probability: an imported set holds questions that it refuses too."""
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
                response = {"value": value, "user_id": reader_id(review.reader), "status": "submitted"}
                responses.setdefault(question, []).append(response)
    return responses


def _shown(contexts: Iterable[Chunk]) -> str:
    """Return the passages as one text, each under its topic."""
    return "\n\n\n".join(f"{chunk.topic}\n\n{chunk.text}" if chunk.topic else chunk.text for chunk in contexts)


def _text(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "settings": {"type": "text"}, **more}


def _choice(name: str, options: Mapping[str, str], **more: Any) -> dict[str, Any]:
    rows = [{"value": value, "text": words} for value, words in options.items()]
    return {"name": name, "settings": {"type": "label_selection", "options": rows}, **more}


def _name(identity: str | None) -> str:
    """Return a name for the dataset, another one for each run."""
    return f"groundset-{identity[:8]}" if identity else "groundset"


EXPORT = Export(
    "argilla",
    "records.json and settings for Argilla",
    write_argilla,
    (SETTINGS_FOLDER, RECORDS_FILE, RESPONSES_FILE, READERS_FILE),
    last=RECORDS_FILE,
    corpus=False,
)
