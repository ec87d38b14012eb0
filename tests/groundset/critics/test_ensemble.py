"""The critic ``ensemble``: who is asked what, and what comes of it."""

import dspy
import pytest

from groundset.critics import open_critic
from groundset.critics.ensemble import EnsembleCritic
from groundset.critics.head import HeadCritic
from optimizers.ensemble import Blend
from programs.deciding import decide
from programs.errors import InputError
from signatures import JudgeQuestion, ScoreChunk

BLEND = Blend(asked="answerable", floor=0.2, intercept=0.0, head=0.0, model=1.0)
PASSAGE = "The Lowen harbour bridge was opened in 1931 after nine years of work led by the engineer Maria Kolb."
QUESTION = "In which year was the Lowen harbour bridge opened?"


class Model:
    """Finds everything answerable with 0.9, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, state, questions):
        self.asked.append(tuple(questions))
        return {name: {"noul": 0.9} for name in questions}


def ensemble(model, word_encoder, floor=0.2):
    blend = BLEND.model_copy(update={"floor": floor})
    return EnsembleCritic(HeadCritic(word_encoder("x")), model, {"judge": blend})


def test_the_model_is_asked_one_thing_and_has_its_say(word_encoder):
    model = Model()
    decision = decide(
        dspy.Predict(JudgeQuestion), ensemble(model, word_encoder, 0.0), passage=PASSAGE, question=QUESTION
    )
    assert model.asked == [("answerable",)]
    assert decision.probability == pytest.approx(0.9)
    assert decision.probabilities["answerable"] == 0.9
    assert set(decision.probabilities) == {"fit", "independent", "clear", "answerable"}


def test_what_the_head_refuses_and_other_steps_cost_no_call(word_encoder):
    model = Model()
    critic = ensemble(model, word_encoder, floor=1.1)
    alone = HeadCritic(word_encoder("x"))
    judge, chunk = dspy.Predict(JudgeQuestion), dspy.Predict(ScoreChunk)
    asked = {"passage": PASSAGE, "question": QUESTION}
    assert decide(judge, critic, **asked) == decide(judge, alone, **asked)
    assert decide(chunk, critic, topic="", passage=PASSAGE) == decide(chunk, alone, topic="", passage=PASSAGE)
    assert model.asked == []


def test_what_an_ensemble_lacks_is_said(word_encoder):
    class Local:
        name, lm = "tiny", None

    with pytest.raises(InputError, match="--critic ensemble needs a language model"):
        open_critic("ensemble", embedder=word_encoder("x"), language_model=None)
    with pytest.raises(InputError, match="compile judge --optimizer fit-ensemble --lm tiny"):
        open_critic("ensemble", embedder=word_encoder("x"), language_model=Local())
