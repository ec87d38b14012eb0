"""Fitting heads to labels whose good rows can be told apart."""

from pathlib import Path
from typing import Any

import pytest
from refusal import refuses

from groundset.optimizers.heads import fit_heads, measures_of, rows_of
from groundset.optimizers.labels import ChunkLabel, QuestionLabel, Row, read_rows
from groundset.programs.errors import LabelError
from groundset.programs.heads import HeadJudge, load_heads

PASSAGE = (
    "The bridge of Lowen was opened in {year} after work led by Maria Kolb. It replaced a ferry of"
    " the town."
)
SPLITS = ("train",) * 3 + ("dev", "test")
LABELS = Path(__file__).parents[2] / "data/labels"


def place(name: str, n: int) -> dict[str, Any]:
    return {"id": name, "document": f"d{n // 6}", "split": SPLITS[n // 6 % len(SPLITS)]}


def questions(count: int = 120, **changes) -> list[Row]:
    """Return labels in turn good and bad, each for one of two reasons."""
    rows = []
    for n in range(count):
        good = f"Who led the work on the bridge of Lowen in {1900 + n}?", "good", "ok"
        vague = f"Who led it in the passage? {n}", "bad", "context_reference"
        question, label, reason = (good, vague, good, (f"Kolb of Lowen {n}", "bad", "malformed"))[
            n % 4
        ]
        answer = (
            {"text": "Maria Kolb", "label": "correct"}
            if n % 4
            else {"text": "Oslo 7", "label": "unsupported"}
        )
        row = {
            "passage": PASSAGE.format(year=1900 + n),
            "question": question,
            "label": label,
            "reason": reason,
        }
        rows.append(QuestionLabel(**{**place(f"q{n}", n), **row, "answer": answer, **changes}))
    return rows


def chunks(count: int = 120) -> list[Row]:
    texts = (
        (PASSAGE, "ok"),
        ("1. Kolb ({year}). doi:10/x\n2. ISBN 7\n3. Retrieved {year}", "citation"),
    )
    rows = []
    for n in range(count):
        text, reason = texts[n % 2]
        label = {
            "text": text.format(year=1900 + n),
            "label": "bad" if n % 2 else "good",
            "reason": reason,
        }
        rows.append(ChunkLabel(**place(f"c{n}", n), **label))
    return rows


@pytest.mark.parametrize(
    ("step", "outputs"),
    [
        ("judge", {"fit", "independent", "clear"}),  # no row is unanswerable
        ("score", {"fit", "content"}),
        ("grounding", {"grounded"}),
    ],
)
def test_heads_learn_what_labels_say(step, outputs, word_encoder, tmp_path):
    encoder, labels = word_encoder(), [*questions(240), *chunks()]
    heads = fit_heads(step, labels, encoder, target_precision=0.8)
    assert heads.heads.keys() == outputs
    assert heads.record["test"]["auc"][0] == 1
    assert heads.record["supported_precision"] > 0.6
    measures = measures_of(
        heads, [row for row in rows_of(step, labels) if row.split == "test"], encoder
    )
    assert measures["auc"] == [1, 1, 1]
    assert min(measures["precision"][0], measures["recall"][0]) > 0.8
    assert heads == fit_heads(step, labels, encoder, target_precision=0.8), "it repeats itself"
    (tmp_path / "x.json").write_text(heads.model_dump_json(exclude_defaults=True))
    assert HeadJudge(step, load_heads(tmp_path / "x.json"), encoder).heads == heads
    assert measures_of(heads, [row for row in rows_of(step, labels) if row.good], encoder) == {}, (
        "bad rows are needed"
    )


def test_precision_that_labels_do_not_support_is_recorded(word_encoder):
    heads = fit_heads("judge", questions(), word_encoder(), target_precision=0.999)
    assert heads.record["target_precision"] == 0.999
    assert 0.6 < heads.record["supported_precision"] < 0.999
    assert 0 < heads.threshold < 1


def test_threshold_is_that_of_generated_questions(word_encoder):
    rows = questions()
    # Of those that runs kept, the bad ones look like good ones.
    kept = [
        row.model_copy(
            update={
                "id": f"k{row.id}",
                "kind": "person",
                "question": f"Who led the work on bridge {n}?",
            }
        )
        for n, row in enumerate(rows)
    ]
    plain, generated = (
        fit_heads("judge", labels, word_encoder()) for labels in (rows, [*rows, *kept])
    )
    assert plain.record["supported_precision"] > generated.record["supported_precision"]


@pytest.mark.parametrize("split", ["train", "dev"])
def test_too_few_labels_are_told(split, word_encoder):
    labels = [row for row in questions() if row.split != split or row.label == "good"]
    with refuses(f"too few labels of judge in the split {split}: .* and 0 bad rows", LabelError):
        fit_heads("judge", labels, word_encoder())


def test_questions_of_strong_writers_are_left_to_models(word_encoder):
    strong = [
        row.model_copy(update={"origin": "strong", "id": f"s{row.id}"}) for row in questions()
    ]
    heads = fit_heads("judge", [*questions(), *strong], word_encoder())
    assert heads.record["rows"] == {"train": 72, "dev": 24, "test": 24}
    assert (
        fit_heads("grounding", [*questions(), *strong], word_encoder()).record["rows"]["test"] == 24
    )


def test_shipped_heads_have_the_measures_of_their_record(word_encoder):
    shipped = load_heads(Path(__file__).parents[2] / "data/compiled/head/grounding.json")
    names = "chunks", "company-chunks", "questions", "strong", "company"
    labels = read_rows([LABELS / f"{name}.jsonl" for name in names])
    rows = [row for row in rows_of("grounding", labels) if row.split == "test"]
    found = measures_of(shipped, rows, word_encoder())
    recorded = shipped.record["test"]
    assert found == recorded
    assert len(rows) == shipped.record["rows"]["test"]
