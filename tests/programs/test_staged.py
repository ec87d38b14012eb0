"""Questions made in six steps."""

import dspy
import pytest
from labelled import write
from scripted import FIT, scripted_lm

import groundset
from groundset import labelling
from groundset.optimizers.prompts import measure
from groundset.programs.users import USERS
from groundset.run.compiled import Compiled, read_states

PASSAGE = (
    "The Velm 2 carries one person of up to 135 kg. The seat stops as soon as you let go of the"
    " rocker. If it is left halfway, a beep sounds, and after 48 hours the batteries are too weak"
    " for a ride."
)
EVOLVED = (
    "Question: Can a Velm 2 that was left halfway for three days be ridden?\nAnswer: the"
    " batteries are too weak\nEvidence: after 48 hours the batteries are too weak for a ride"
)
ANSWERS = {
    "keyphrases": "- the rocker\n- left halfway\n- a hand crank",
    "ask": (
        "Form: simple\nKind: fact\nQuestion: What sounds on a Velm 2 that is left halfway?\n"
        "Answer: a beep\nEvidence: If it is left halfway, a beep sounds"
    ),
    "evolve": EVOLVED,
    "judge": (
        "Reason: fine\nAnswer: no\nIndependent: yes\nClear: yes\nAnswerable: yes\nConfidence: 91"
    ),
    "answer": "the batteries are too weak",
    "compare": "Reason: differ\nHolds: no",
    "reword": "Situation: an owner\nMessage: velm 2 stood halfway since friday, still usable?",
}
LABELS = [
    {
        "id": f"{split}{number}",
        "document": f"{split}{number % 2}",
        "split": split,
        "topic": "Velm 2",
        "text": PASSAGE,
        "label": "good",
        "reason": "ok",
    }
    for split in ("train", "dev", "test")
    for number in range(2)
]


def made(program=None, *, turn=0, wanted=("reasoning",), **answers):
    lm, engine = scripted_lm(ANSWERS | answers)
    with dspy.context(lm=lm):
        found = (program or groundset.Staged())(
            passage=PASSAGE, topic="Velm 2", wanted=wanted, turn=turn
        )
    return found, engine


def test_each_step_gets_what_the_one_before_it_made():
    found, engine = made(turn=1)
    assert found.question == "Can a Velm 2 that was left halfway for three days be ridden?"
    assert found.answer == "the batteries are too weak"
    assert found.evidence == ["after 48 hours the batteries are too weak for a ride"]
    assert (found.evolution, found.probability, found.rejects) == ("reasoning", 0.91, [])
    assert [name for name, _ in engine.requests] == [
        *("score", "keyphrases", "ask", "evolve", "judge", "answer")
    ]
    ask, evolve, _, answer = (str(request.messages[-1]) for _, request in engine.requests[2:])
    assert "Subject: left halfway" in ask
    assert "Plain question: What sounds" in evolve
    assert "Form: reasoning: ask for" in evolve
    assert "too weak\\nQuestion" not in answer, "the answer is not shown"
    plain, engine = made(wanted=("table", "simple"))
    assert plain.question == "", "its answer is not the one that was written"
    assert "evolve" not in engine.steps(), "the passage has no table"


def test_users_put_it_before_it_is_judged():
    found, engine = made(groundset.Staged(users=USERS["staff"]))
    assert found.question == "velm 2 stood halfway since friday, still usable?"
    assert found.metadata["seed_question"].startswith("Can a Velm 2")
    assert engine.steps()[-3:] == ["reword", "judge", "answer"]


@pytest.mark.parametrize(
    ("step", "text", "reason"),
    [
        ("score", FIT.replace("Content: yes", "Content: no"), "not content: fine"),
        ("score", "Sorry.", "what was written cannot be read"),
        ("keyphrases", "- a hand crank", "no keyphrase of the passage was written"),
        ("ask", "Question: none\nAnswer: all was asked", "nothing to ask: all was asked"),
        ("judge", ANSWERS["judge"].replace("Answerable: yes", "Answerable: no"), "not answerable"),
        ("answer", "not stated", "not found in the passage: 'the batteries are too weak'"),
        ("answer", "a beep", "another answer than expected: 'a beep'"),
    ],
)
def test_every_step_can_refuse(step, text, reason):
    found, engine = made(**{step: text})
    assert not found.question
    assert found.rejects[0].step == step
    assert found.rejects[0].reason.startswith(reason)
    assert found.exhausted is (step in ("score", "keyphrases", "ask"))
    assert engine.requests[-1][0] in (step, "compare"), "nothing is paid for after it"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Question: none\nAnswer: no rule", "nothing to ask: no rule"),
        (EVOLVED.replace("the batteries are too", "the rail is too"), "its evidence is not"),
        (
            EVOLVED.replace(
                "Can a Velm 2 that was left halfway for three days be ridden",
                "What sounds on a Velm 2 that is left halfway",
            ),
            "it is the same question",
        ),
    ],
)
def test_a_question_that_does_not_evolve_stays_as_it_was(text, reason):
    found, _ = made(evolve=text, answer="a beep")
    assert found.question == "What sounds on a Velm 2 that is left halfway?"
    assert found.evolution == "simple"
    assert found.rejects[0].step == "evolve"
    assert found.rejects[0].reason.startswith(reason)


def test_it_is_compiled_whole_and_each_step_gets_demos(tmp_path, monkeypatch):
    def kept(**_):
        return dspy.Prediction(fit=True, probability=0.9)

    lm, _ = scripted_lm(ANSWERS)
    few = {"max_bootstrapped_demos": 1, "max_labeled_demos": 0}
    files = [write(tmp_path / "chunks.jsonl", LABELS)]
    monkeypatch.setattr(labelling, "shipped_files", list)
    whole = groundset.step("staged", files, judge=kept)
    assert min(measure(whole.program, whole.devset, whole.metric, lm=lm)) > 0.9
    with dspy.context(lm=lm):
        program = dspy.BootstrapFewShot(metric=whole.metric, **few).compile(
            groundset.Staged(), trainset=whole.trainset
        )
    steps = {"score_chunk", "keyphrases", "ask", "evolve", "judge", "answer"}
    demos = {name: each.demos for name, each in program.named_predictors()}
    assert {name for name, own in demos.items() if own and own[0].get("augmented")} == steps, (
        "each has what it wrote itself as a demo"
    )
    program.score = 0.9  # as MIPROv2 leaves it
    program.save(str(tmp_path / "program.json"))
    served = groundset.Staged()
    Compiled(read_states(tmp_path / "program.json")).apply([served])
    _, engine = made(served)
    turns = {name: len(request.messages) for name, request in engine.requests}
    assert turns == dict.fromkeys(steps - {"score_chunk"} | {"score"}, 3), "a demo and the passage"
