"""The stage ``panel``: three critics in one round or two."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from dspy.lm15 import Request
from scripted_program import GOOD, TEXT, ScriptedCritic, chunk_of, languages_with, tools_of, trail_of

from programs.analysis import read_chunk
from programs.critics import open_panel
from programs.deciding import UNREADABLE
from programs.demos import Demos
from programs.judging import review_drafts
from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.stages.panel import Panel
from programs.steps.panel import VIEWPOINTS, approval_of
from programs.trail import Trail
from programs.types import Attempt, Focus

CONTEXT = read_chunk(chunk_of(), languages_with(None))
ANSWER = "22 February 2009"
YES, NO = "Approved: as it should be - yes, 80", "Approved: another date - no, 90"
ACCURACY, CLARITY, USE = VIEWPOINTS


class Critics:
    """A language model that answers each critic with its next text; the last one is repeated."""

    model = "critics"

    def __init__(self, script: Mapping[str, str | Sequence[str]]) -> None:
        self._script = {name: [texts] if isinstance(texts, str) else list(texts) for name, texts in script.items()}
        self.requests: list[Request] = []
        self.prompts: list[str] = []

    def __call__(self, request: Request) -> Any:
        self.requests.append(request)
        self.prompts.append(str(request.messages[-1].parts[0].text))
        name = next(name for name, viewpoint in VIEWPOINTS.items() if viewpoint in self.prompts[-1])
        texts = self._script.get(name, [YES])
        return SimpleNamespace(message=SimpleNamespace(text=texts.pop(0) if len(texts) > 1 else texts[0]))


def review(demos: Demos, script: Mapping[str, str | Sequence[str]]) -> tuple[float | None, Trail, Critics]:
    critics = Critics(script)
    tools = tools_of(demos=demos, critics={"judge": ScriptedCritic(), **open_panel(SimpleNamespace(lm=critics))})
    trail, _ = trail_of(Attempt(number=0, contexts=(CONTEXT,), wanted="simple"))
    judged = JudgeAndRewrite(tools)(trail, 0, Focus(sentence=TEXT, answer=ANSWER), GOOD)
    return Panel(tools)(trail, judged, ANSWER), trail, critics


def votes(trail: Trail) -> list[tuple[int, str, str | None]]:
    records = [record for record in trail.records_of(0) if record.step == "panel"]
    return [(record.output["round"], record.output["critic"], record.verdict) for record in records]


def round_(number: int, *verdicts: str) -> list[tuple[int, str, str]]:
    return [(number, name, verdict) for name, verdict in zip(VIEWPOINTS, verdicts, strict=True)]


def test_without_a_critic_every_draft_passes(demos: Demos) -> None:
    tools = tools_of(demos=demos)
    trail, _ = trail_of(Attempt(number=0, contexts=(CONTEXT,), wanted="simple"))
    judged = JudgeAndRewrite(tools)(trail, 0, Focus(sentence=TEXT, answer=ANSWER), GOOD)
    assert Panel(tools)(trail, judged, ANSWER) == 1.0
    assert votes(trail) == []


def test_unanimous_approval_takes_one_round(demos: Demos) -> None:
    probability, trail, critics = review(demos, {USE: "Approved: drivers ask this - yes, 50"})
    assert probability == pytest.approx((0.9 + 0.9 + 0.75) / 3)
    assert votes(trail) == round_(1, "good", "good", "good")
    assert trail.records_of(0)[-1].reason == "drivers ask this"
    assert trail.outcome().rejects == ()
    assert len(critics.prompts) == 3
    for prompt, viewpoint in zip(critics.prompts, VIEWPOINTS.values(), strict=True):
        assert prompt.startswith(f"Passage: [Henn ferry]\n{TEXT}\nQuestion: {GOOD}\nAnswer: {ANSWER}\nViewpoint: ")
        assert prompt.endswith(viewpoint)


def test_demos_show_each_viewpoint_with_both_decisions(demos: Demos) -> None:
    _, _, critics = review(demos, {})
    turns = [str(message.parts[0].text) for message in critics.requests[0].messages[:-1]]
    for viewpoint in VIEWPOINTS.values():
        replies = [reply for shown, reply in zip(turns[::2], turns[1::2], strict=True) if viewpoint in shown]
        assert [reply.rpartition(" - ")[2] for reply in replies][:2] == ["yes, 95", "no, 95"]


def test_unanimous_refusal_takes_one_round(demos: Demos) -> None:
    probability, trail, critics = review(demos, {ACCURACY: NO, CLARITY: NO, USE: "Approved: - no, 70"})
    assert probability is None
    assert len(critics.prompts) == 3
    (reject,) = trail.outcome().rejects
    assert (reject.step, reject.question) == ("panel", GOOD)
    assert reject.reason == "3 of 3 critics refused: accuracy: another date; clarity: another date; use"
    assert reject.probability == pytest.approx((0.05 + 0.05 + 0.15) / 3, abs=1e-4)


def test_split_then_majority_approves(demos: Demos) -> None:
    probability, trail, critics = review(demos, {USE: "Approved: nobody asks this - no, 60"})
    assert probability == pytest.approx((0.9 + 0.9 + 0.2) / 3)
    assert votes(trail) == [*round_(1, "good", "good", "bad"), *round_(2, "good", "good", "bad")]
    assert trail.outcome().rejects == ()
    assert "Opinions" not in "".join(critics.prompts[:3])
    accuracy, _, use = critics.prompts[3:]
    expected = "Opinions: clarity and insight, yes: as it should be | practical use, no: nobody asks this"
    assert accuracy.endswith(expected)
    assert "practical use, " not in use.rpartition("Opinions: ")[2], "a critic sees the opinions of the others"


def test_critic_that_sees_no_fault_is_convinced(demos: Demos) -> None:
    probability, trail, _ = review(demos, {USE: [NO, YES]})
    assert probability == pytest.approx(0.9)
    assert votes(trail)[3:] == round_(2, "good", "good", "good")


def test_split_then_majority_refuses(demos: Demos) -> None:
    probability, trail, critics = review(demos, {ACCURACY: NO, CLARITY: [YES, NO]})
    assert probability is None
    assert len(critics.prompts) == 6
    assert votes(trail)[3:] == round_(2, "bad", "bad", "good")
    (reject,) = trail.outcome().rejects
    assert reject.reason == "2 of 3 critics refused: accuracy: another date; clarity: another date"


@pytest.mark.parametrize("text", ["", "I approve it.", "APPROVED", "Approved: yes or no", "Approved: 100"])
def test_malformed_answers_refuse(demos: Demos, text: str) -> None:
    probability, trail, critics = review(demos, dict.fromkeys(VIEWPOINTS, text))
    assert probability is None
    assert len(critics.prompts) == 6, "each critic is asked once more"
    (reject,) = trail.outcome().rejects
    assert reject.reason.count(UNREADABLE) == 3
    assert reject.probability == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "NOT APPROVED",
        "Approved: NOT APPROVED",
        "**NOT APPROVED**: the date is another one.",
        "Not approved: the date is another one - yes, 95",
        "Approved: it names the ferry - yes, 95\nNOT APPROVED",
        "Approved: not yes, 90",
        "Disapproved - yes",
        "Approved: the date is another one - no, 0",
    ],
)
def test_denials_never_read_as_approval(demos: Demos, text: str) -> None:
    probability, trail, critics = review(demos, dict.fromkeys(VIEWPOINTS, text))
    assert probability is None
    assert votes(trail) == round_(1, "bad", "bad", "bad")
    assert len(critics.prompts) == 3


def test_thoughts_are_no_decision(demos: Demos) -> None:
    probability, _, _ = review(demos, dict.fromkeys(VIEWPOINTS, f"<think>NOT APPROVED?</think>{YES}"))
    assert probability == pytest.approx(0.9)


def test_approval_of_a_trail_is_that_of_the_last_round(demos: Demos) -> None:
    _, trail, _ = review(demos, {USE: [NO, YES]})
    assert approval_of(trail.records_of(0)) == [pytest.approx(0.9)]
    assert approval_of(()) == []


def test_rows_are_reviewed_like_drafts(demos: Demos) -> None:
    critics = Critics({USE: NO})
    draft = {"passage": TEXT, "question": GOOD, "answer": ANSWER}
    (decision,) = review_drafts([draft], open_panel(SimpleNamespace(lm=critics))["panel"], demos)
    assert decision.good
    assert decision.probability == pytest.approx((0.9 + 0.9 + 0.05) / 3)
    assert (decision.weakest, decision.reasons[USE]) == (USE, "another date")
    assert len(critics.prompts) == 6
