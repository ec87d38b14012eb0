"""Reading files in the format of SQuAD as gold rows."""

import json

import pytest

from optimizers.gold import licences_of
from optimizers.public_sets import PUBLIC_SETS
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages

CONTEXT = (
    "The harbour of Orsle was dredged in 1904. Because the channel silted up within ten years, a second dredger was "
    "bought in 1915. It worked every night."
)


def item(number, question, answer):
    start = CONTEXT.find(answer) if answer else -1
    answers = [{"text": answer, "answer_start": start}] if answer else []
    return {"id": f"q{number}", "question": question, "answers": answers, "is_impossible": not answer}


@pytest.fixture
def squad(tmp_path):
    """Return a file in the form of SQuAD 2.0."""
    questions = [
        item(1, "In which year was the harbour  of Orsle dredged?", "1904"),
        item(2, "Why was a second dredger bought for Orsle?", "the channel silted up within ten years"),
        item(3, "How deep is the harbour of Orsle?", None),
        item(4, "Was the harbour dredged in 1904 or later?", "1904. Because"),
        item(5, "What happened to the harbour of Orsle in 1904? And then?", "dredged"),
        item(6, "How often did the dredger of Orsle work?", "every night"),
        item(7, "How was the silt of the Orsle channel removed?", "a second dredger was bought"),
    ]
    file = tmp_path / "train-v2.0.json"
    article = {"title": "Orsle_harbour", "paragraphs": [{"context": CONTEXT, "qas": questions}]}
    file.write_text(json.dumps({"version": "v2.0", "data": [article]}), encoding="utf-8")
    return file


def test_answerable_questions_become_gold_rows(squad):
    rows = list(PUBLIC_SETS["squad"].rows(squad, Languages(LANGUAGES)))
    assert [row.id for row in rows] == ["squad-q1", "squad-q2", "squad-q6", "squad-q7"]
    assert [row.kind for row in rows] == ["fact", "why", "fact", "how"]
    assert rows[0].question == "In which year was the harbour of Orsle dredged?"
    assert rows[0].evidence == "The harbour of Orsle was dredged in 1904."
    assert {row.evidence for row in rows[1::2]} == {CONTEXT.split(". ")[1] + "."}
    assert {(row.topic, row.document, row.step, row.answers) for row in rows} == {
        ("Orsle harbour", "squad/Orsle_harbour", "ask", "short")
    }
    assert len({row.split for row in rows}) == 1
    assert licences_of(rows) == ["SQuAD, CC BY-SA 4.0"]


@pytest.mark.parametrize("text", ["[]", '{"data": [{"title": "x"}]}', "no json", '{"data": 3}'])
def test_other_format_is_rejected(tmp_path, text):
    file = tmp_path / "odd.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"--labels squad:.*odd.json"):
        list(PUBLIC_SETS["squad"].rows(file, Languages(LANGUAGES)))
