"""Runs on the user's own questions."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
from refusal import refuses

from groundset.exports.sets import joined
from groundset.models.server import UnansweredError
from groundset.programs.errors import RunError
from groundset.run.given import grouped, read_questions
from groundset.run.show import ShowOptions, account, show

_PLACES = ("Gower", "GOWER", "Nowhere", "Calder", "Arden")
GOWER, AGAIN, NOWHERE, CALDER, ARDEN = map("When was the mill of {} built?".format, _PLACES)


def judge(prompt):
    """Read a passage: Nowhere is in none, Arden is not clear, and of Calder it is not sure."""
    passage, _, question = prompt.rpartition("Question:")
    place = next((name for name in ("Gower", "Arden") if name in question and name in passage), "")
    answer = (
        passage.partition(f"The mill of {place} was built in ")[2][:4] if place else "not stated"
    )
    clear, good = ("no" if "Arden" in question else "yes"), ("yes" if place else "no")
    sure = 40 if place == "Arden" or "Calder" in question else 90 if place else 5
    return (
        f"Reason: as said\nAnswer: {answer}\nIndependent: yes\nClear: {clear}\nAnswerable:"
        f" {good}\nConfidence: {sure}"
    )


def test_questions_that_differ_in_vowel_signs_are_no_duplicates():
    encoder = SimpleNamespace(encode=lambda texts: np.ones((len(texts), 1), np.float32))
    for asked in (["नाव दिन में?", "नाव दान में?"], ["ปีนี้", "ปูนี้"]):
        assert list(grouped(dict.fromkeys(asked, 1), encoder)) == asked
    assert grouped({"Fähre?": 1, "Fa\u0308hre": 2}, encoder) == {"Fähre?": 3}


def test_questions_get_answers_and_a_stopped_run_goes_on(opened, tmp_path, capsys):
    opened.script.answers["judge"] = judge
    file = tmp_path / "questions.txt"
    file.write_text("\n".join((GOWER, "hello", AGAIN, NOWHERE, CALDER, ARDEN, "hello!")) + "\n\n")
    whole = opened.run(questions=file, out=tmp_path / "whole", size=None)
    assert whole.status == "complete"
    assert whole.record["configuration"]["recipe"] == "given"
    assert [(each.question, each.metadata["weight"]) for each in whole] == [
        (GOWER, 2),
        (NOWHERE, 1),
        (ARDEN, 1),
    ]
    first, nowhere, _ = whole
    assert first.retrieval_gt == ((first.contexts[0].chunk_id,),)
    assert first.answer == "1742"
    assert nowhere.evolution == "unanswerable"
    assert nowhere.retrieval_gt == ()
    assert len(nowhere.contexts) == 10
    told = [(reject.step, reject.question, bool(reject.chunk_id)) for reject in whole.rejects]
    assert told == [("question", "hello", False), ("unsure", CALDER, True)]
    (unsure,) = whole.unsure
    assert (unsure.question, unsure.answer, unsure.retrieval_gt) == (CALDER, "", ())
    assert (whole.record["unsure"], len(unsure.contexts)) == (1, 10)
    told = [*account(whole)]
    assert any(line.startswith("1 question unsure: `groundset review") for line in told)
    assert any(line.startswith("1 question that the documents seem not") for line in told)
    show(ShowOptions(run=whole.folder, rejects=True, trail=True))
    assert capsys.readouterr().out.count('"confidence": 40') == len(unsure.trail) == 11
    assert [each.id for each in joined([whole]).samples] == [each.id for each in whole]
    assert len(opened.run(questions=file, size=1)) == 1
    assert opened.run(questions=file, size=None, budget_calls=8).status == "budget"
    assert opened.run(questions=file, size=None).samples == whole.samples
    file.write_text(ARDEN)
    with refuses("was made of other --questions", RunError):
        opened.run(questions=file, size=None)


def test_a_reranker_orders_what_is_read(opened, tmp_path, monkeypatch):
    opened.script.answers["judge"] = judge
    wanted = SimpleNamespace(name="own", sha256="ef" * 32)
    wanted.scores = lambda query, texts: [float("Gower" in text) for text in texts]
    monkeypatch.setattr("groundset.run.generate.open_reranker", lambda spec, notify: wanted)
    (tmp_path / "own.txt").write_text("When was the mill built which Gower has?\n")
    run = opened.run(questions=tmp_path / "own.txt", size=None, read=1, reranker="own")
    assert [(each.answer, len(each.trail)) for each in run] == [("1742", 1)]
    assert run.record["models"]["reranker"] == {"name": "own", "sha256": "ef" * 32}


def test_the_preferred_document_counts_where_documents_contradict_each_other(opened, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    for number, year in enumerate((1742, 1850)):
        file = docs / f"policy-{number}.md"
        text = f"The mill of Gower was built in {year}, the gowerwheel and the gowerrace as well. "
        file.write_text(f"# Mills of {year}\n\n{text}{'It stands by the brook of old. ' * 4}")
        os.utime(file, (10**9 + number, 10**9 + number))
    (tmp_path / "own.txt").write_text(f"{GOWER}\n")
    opened.script.answers["judge"] = judge
    given = {"documents": (docs,), "questions": tmp_path / "own.txt", "size": None}
    for prefer, answer in (("newest", "1850"), ("*-0.md", "1742")):
        [sample] = opened.run(**given, prefer=prefer, out=tmp_path / prefer[-6:])
        assert sample.answer == answer
        assert [each["answer"] for each in sample.variants] == [str(1742 + 1850 - int(answer))]
    with refuses(r"--prefer new/\*: no document has such a path"):
        opened.run(**given, prefer="new/*", out=tmp_path / "no")
    assert not (tmp_path / "no").exists()
    run = opened.run(documents=(docs,), mix="simple=1", users="reader", prefer="newest")
    assert {each.answer for each in run} <= {"1850"}
    assert "a preferred document says otherwise: policy-1.md" in [
        reject.reason for reject in run.rejects
    ]


def test_a_question_that_is_never_answered_is_refused_and_the_others_are_made(opened, tmp_path):
    def filtered(prompt):
        if "Nowhere" in prompt.rpartition("Question:")[2]:
            raise UnansweredError("HOST did not answer this prompt")
        return judge(prompt)

    opened.script.answers["judge"] = filtered
    file = tmp_path / "questions.txt"
    file.write_text("\n".join((GOWER, NOWHERE, ARDEN)))
    run = opened.run(questions=file, size=None)
    assert [each.question for each in run] == [GOWER, ARDEN]
    (reject,) = run.rejects
    assert reject.step == "failure"
    assert reject.question == NOWHERE
    assert reject.reason.endswith("HOST did not answer this prompt")


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("q.csv", '\ufeffuser;question\n1;"What;\nthen?"\n2;\n', {"What; then?": 1, "": 1}),
        ("q.jsonl", '{"question": "Why?", "n": 1}\n\n{"question": " Why?"}\n', {"Why?": 2}),
        ("q.csv", "sep=;\nquestion;user\nWhy, then?;1\n", {"Why, then?": 1}),
        ("q.csv", '"name; of a user",question\nx,Why?\n', {"Why?": 1}),
        ("q.txt", "Why\u2028then?\nWho?\n", {"Why then?": 1, "Who?": 1}),
        ("q.csv", "user,ask\n1,Why?\n", "line 2: column question or query is missing"),
        ("q.csv", "question\nWhy, then?\n", "line 2: more cells than columns"),
        ("q.txt", "\n\n", "give 1 to 10,000 different questions, not 0"),
    ],
)
def test_files_of_questions(tmp_path, name, text, found):
    (tmp_path / name).write_text(text)
    if isinstance(found, dict):
        assert read_questions(tmp_path / name) == found
        return
    with refuses(found):
        read_questions(tmp_path / name)
