"""The verdict critic with the smallest real model, which hardly keeps to a form: whatever it writes decides."""

from pathlib import Path

from groundset.runtime.lms import open_lm
from programs.critics.verdict import VerdictCritic
from programs.deciding import UNREADABLE, decide
from programs.steps import STEPS


def test_smallest_model_decides_or_refuses(smollm2: Path) -> None:
    with open_lm(str(smollm2)) as model:
        critic = VerdictCritic(model.lm, "grounding")
        said = {"passage": "The Henn Lady struck a rock in 2009.", "question": "When did the Henn Lady strike a rock?"}
        decision = decide(STEPS["grounding"].predictor(), critic, **said, answer="in 2009")
        calls = model.usage()["calls"]
    assert 0 <= decision.probability <= 1
    assert calls <= 2
    assert decision.refusal != UNREADABLE or calls == 2
