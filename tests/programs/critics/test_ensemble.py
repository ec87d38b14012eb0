"""The critic ``ensemble``: who is asked what, and what comes of it."""

from types import SimpleNamespace

import dspy
import pytest

from programs.critics import open_critics
from programs.critics.ensemble import Blend, EnsembleCritic
from programs.critics.heads import HeadCritic
from programs.deciding import decide
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from signatures.judge import JudgeQuestion

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


KNOWN = Languages(LANGUAGES)


def ensemble(model, word_encoder, floor=0.2):
    blend = BLEND.model_copy(update={"floor": floor})
    return EnsembleCritic(HeadCritic("judge", word_encoder("x"), KNOWN), model, blend)


def test_ensemble_asks_the_model_for_one_output(word_encoder):
    model = Model()
    decision = decide(
        dspy.Predict(JudgeQuestion), ensemble(model, word_encoder, 0.0), passage=PASSAGE, question=QUESTION
    )
    assert model.asked == [("answerable",)]
    assert decision.probability == pytest.approx(0.9)
    assert decision.probabilities["answerable"] == 0.9
    assert set(decision.probabilities) == {"fit", "independent", "clear", "answerable"}


def test_ensemble_makes_no_call_below_the_floor(word_encoder):
    model = Model()
    critic, alone = ensemble(model, word_encoder, floor=1.1), HeadCritic("judge", word_encoder("x"), KNOWN)
    judge, asked = dspy.Predict(JudgeQuestion), {"passage": PASSAGE, "question": QUESTION}
    assert decide(judge, critic, **asked) == decide(judge, alone, **asked)
    assert model.asked == []


def test_step_without_blend_uses_the_head(word_encoder):
    opened = open_critics(
        "ensemble",
        languages=KNOWN,
        embedder=word_encoder("x"),
        language_model=SimpleNamespace(name="tiny", lm=None),
        blends={"judge": BLEND},
    )
    assert isinstance(opened["judge"], EnsembleCritic)
    assert isinstance(opened["chunk"], HeadCritic)


def test_ensemble_needs_model_and_blend(word_encoder):
    with pytest.raises(InputError, match="--critic ensemble needs a language model"):
        open_critics("ensemble", languages=KNOWN, embedder=word_encoder("x"), language_model=None)
    with pytest.raises(InputError, match="compile judge --optimizer fit-ensemble --lm tiny"):
        open_critics(
            "ensemble",
            languages=KNOWN,
            embedder=word_encoder("x"),
            language_model=SimpleNamespace(name="tiny", lm=None),
        )


def test_blend_sums_log_odds():
    both = BLEND.model_copy(update={"head": 1.0})
    assert both.probability(0.5, 0.5) == pytest.approx(0.5)
    assert both.probability(0.75, 0.75) == pytest.approx(0.9)  # odds of 3 and 3 make 9
    assert both.probability(0.75, 0.25) == pytest.approx(0.5)
    assert 0.0 < both.probability(0.0, 0.0) < both.probability(1.0, 1.0) < 1.0
