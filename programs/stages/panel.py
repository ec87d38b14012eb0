"""Stage ``panel``: three critics review a finished draft, in one round or two."""

from statistics import fmean
from typing import Any

import dspy

from programs.deciding import OVERALL, Decision, decide, with_reason
from programs.stages.contexts import critic_passage
from programs.stages.judge_and_rewrite import Judged
from programs.steps.panel import STEP, VIEWPOINTS
from programs.tools import Tools
from programs.trail import Trail

Votes = dict[str, Decision]


class Panel(dspy.Module):
    """Let the panel decide; without its critic, every draft passes."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.panel = tools.predictor(STEP.name)

    def forward(self, trail: Trail, judged: Judged, answer: str) -> float | None:
        """Return the probability of the panel, 1 without a panel; refuse the draft and return None."""
        if STEP.name not in self.tools.critics:
            return 1.0
        critic = self.tools.critics[STEP.name]
        draft = {"passage": critic_passage(critic, judged.contexts), "question": judged.question, "answer": answer}
        rounds = vote(self.panel, critic, draft)
        for number, votes in enumerate(rounds, 1):
            for name, each in votes.items():
                trail.record(
                    STEP.name,
                    judged.number,
                    {"critic": name, "round": number, "answer": answer},
                    probability=each.probability,
                    good=each.good,
                    reason=each.reason or None,
                )
        decision = majority(rounds[-1])
        if decision.good:
            return decision.probability
        trail.refuse(STEP.name, _refusal(rounds[-1]), probability=decision.probability, question=judged.question)
        return None


def vote(predict: dspy.Predict, critic: Any, draft: dict[str, str]) -> list[Votes]:
    """Return the decisions on a draft in each round, by critic.

    If the critics disagree in the first round, each of them sees the opinions of the others and decides again.
    """

    def decided(name: str, opinions: str) -> Decision:
        return decide(predict, critic, **draft, viewpoint=VIEWPOINTS[name], opinions=opinions)

    first = {name: decided(name, "") for name in VIEWPOINTS}
    if len({each.good for each in first.values()}) == 1:
        return [first]
    return [first, {name: decided(name, _opinions(first, name)) for name in VIEWPOINTS}]


def majority(votes: Votes) -> Decision:
    """Return the decisions of the critics, with that of the majority and the mean probability as the overall output."""
    good = sum(each.good for each in votes.values()) > len(votes) / 2
    return Decision(
        values={**{name: each.good for name, each in votes.items()}, OVERALL: good},
        probabilities={
            **{name: each.probability for name, each in votes.items()},
            OVERALL: fmean(each.probability for each in votes.values()),
        },
        levels={},
        reasons={name: each.reason for name, each in votes.items() if each.reason},
    )


def _refusal(votes: Votes) -> str:
    """Return the reason for a reject: the critics that refuse, with their reasons."""
    refusing = [with_reason(name, each.reason) for name, each in votes.items() if not each.good]
    return f"{len(refusing)} of {len(votes)} critics refused: {'; '.join(refusing)}"


def _opinions(votes: Votes, own: str) -> str:
    """Return the opinions of the other critics in one line."""
    return " | ".join(
        with_reason(f"{VIEWPOINTS[name].split(':')[0]}, {'yes' if each.good else 'no'}", each.reason)
        for name, each in votes.items()
        if name != own
    )
