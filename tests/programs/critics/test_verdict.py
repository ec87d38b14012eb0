"""What the verdict critic asks in its one call, and what it makes of whatever a model writes."""

import asyncio
from types import SimpleNamespace
from typing import Any

import dspy
import pytest

from programs.critics import open_critics
from programs.critics.verdict import VerdictCritic
from programs.deciding import UNREADABLE, Decision, decide
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps import STEPS
from signatures.judge import JudgeQuestion

GOOD = (
    "Independent: it names the ferry and the rock - yes, 90\n"
    "Clear: it asks for one date - yes, 100\n"
    "Answerable: the passage says 'on 22 February 2009' - yes, 80\n"
    "Fit: nothing is wrong - yes, 90"
)


class Writing:
    """Writes the next of some completions; the last one is repeated."""

    model = "remote/x"

    def __init__(self, *completions: str) -> None:
        self._completions = list(completions)
        self.requests: list[Any] = []

    def __call__(self, request: Any) -> Any:
        self.requests.append(request)
        text = self._completions.pop(0) if len(self._completions) > 1 else self._completions[0]
        return SimpleNamespace(message=SimpleNamespace(text=text), logprobs=None)

    async def acall(self, request: Any) -> Any:
        return self(request)


def judged(*completions: str) -> tuple[Decision, Writing]:
    lm = Writing(*completions)
    predict = dspy.Predict(JudgeQuestion)
    return decide(predict, VerdictCritic(lm, "judge"), passage="It struck.", question="When did it strike?"), lm


def chat(request: Any) -> list[str]:
    return [str(request.system), *("".join(part.text for part in message.parts) for message in request.messages)]


def test_verdict_chat_is_one_call_with_inputs_last() -> None:
    decision, lm = judged(GOOD)
    (request,) = lm.requests
    system, turn = chat(request)
    assert turn == "Passage: It struck.\nQuestion: When did it strike?"
    places = [system.index(f"\n{title}: ") for title in ("Independent", "Clear", "Answerable", "Fit")]
    assert places == sorted(places), "what decides comes last"
    assert "\n  yes: Names its subject; can be understood by someone who has not seen the passage.\n" in system
    assert "\n  easily missed: Find the words of the passage that answer it." in system
    assert system.endswith("Fit: <reason, at most 25 words> - <yes or no>, <0-100>")
    assert (request.config.temperature, request.config.logprobs) == (0.0, None)
    assert decision.probabilities == pytest.approx({"independent": 0.95, "clear": 1.0, "answerable": 0.9, "fit": 0.9})
    assert decision.good
    assert decision.reasons["clear"] == "it asks for one date"


def test_refusal_has_the_reason_of_the_failed_output() -> None:
    decision, _ = judged(GOOD.replace("one date - yes, 100", "a date and a place - no, 85"))
    assert not decision.good, "what decides is no better than its parts"
    assert decision.probability == decision.probabilities["clear"] == pytest.approx(0.075)
    assert decision.refusal == "not clear: it asks for a date and a place"
    decision, _ = judged(GOOD.replace("nothing is wrong - yes, 90", "nobody would ask it - no, 60"))
    assert decision.refusal == "not fit: nobody would ask it", "no part is to blame"
    decision, _ = judged("Independent: it is a name\nFit: No, nobody would ask it.")
    assert decision.refusal == "not fit: nobody would ask it", "of the parts nothing is known"


@pytest.mark.parametrize(
    ("line", "probability", "reason"),
    [
        ("Clear: it asks one thing - yes, 95", 0.975, "it asks one thing"),
        ("clear - two things are asked – No (70%).", 0.15, "two things are asked"),
        ("**Clear:** *it asks one thing* - **yes**, 95/100", 0.975, "it asks one thing"),
        ("2. Clear: no, 90 or more? It is plain - yes, confidence: 60", 0.8, "no, 90 or more? It is plain"),
        ("Clear: yes, 90 - it asks one thing", 0.95, "it asks one thing"),
        ("Clear: it asks one thing.\n- yes\n- 90\n", 0.95, "it asks one thing"),
        ("Clear: No - two things are asked.", 0.1, "two things are asked"),
        ("Clear: \"The boat” in the first turn is unclear - no, 90", 0.05, "\"The boat” in the first turn is unclear"),
        ("Clear: \"it asks one thing\" - yes, 95", 0.975, "it asks one thing"),
        ("Clear: no", 0.1, ""),
        ("Clear: vague - no, 0.9", 0.05, "vague"),
        ("Clear: vague - no, 300", 0.0, "vague"),
        ("Clear: vague - no, 0", 0.495, "vague"),
        ("Clear: first I thought so,\nthen not - no, 40 (not sure)", 0.3, "first I thought so, then not"),
        ("Clear: at first sight - yes, 90\nClear: on second thought - no, 90", 0.05, "on second thought"),
        ("Clear: <reason, at most 25 words> - <yes or no>, <0-100>", 0.5, None),
        ("Clear: it is fine - yes or no, 95", 0.5, None),
        ("Clear: yes|no, 0-100", 0.5, None),
        ("Clear: the passage is about a ferry", 0.5, None),
        ("", 0.5, None),
    ],
)  # fmt: skip
def test_verdict_lines_are_parsed_or_undecided(line: str, probability: float, reason: str | None) -> None:
    decision, lm = judged(GOOD.replace("Clear: it asks for one date - yes, 100", line))
    assert decision.probabilities["clear"] == pytest.approx(probability)
    assert decision.reasons.get("clear", "" if reason == "" else None) == reason
    assert len(lm.requests) == 1


def test_missing_overall_verdict_follows_from_parts() -> None:
    without = GOOD.rpartition("\n")[0]
    assert judged(without)[0].probabilities["fit"] == pytest.approx(0.9)
    assert not judged(without.replace("date - yes", "date - no"))[0].good


@pytest.mark.parametrize("rubbish", ["", "\n\n", "I cannot help.", "<think>Clear: fine - yes, 90", "{}", "yes", "\x00"])
def test_unparsable_completion_is_retried_then_refused(rubbish: str) -> None:
    decision, lm = judged(rubbish)
    assert [request.config.seed for request in lm.requests] == [None, 1]
    assert not decision.good
    assert (decision.probability, decision.refusal) == (0.0, UNREADABLE)
    decision, lm = judged(rubbish, GOOD)
    assert (decision.good, len(lm.requests)) == (True, 2)


def test_one_part_alone_is_refused() -> None:
    assert not judged("Clear: one date - yes, 100")[0].good


def test_unparsable_same_counts_as_same() -> None:
    predict = STEPS["same"].predictor()
    critic = VerdictCritic(Writing("?"), "same")
    assert decide(predict, critic, first="Who?", second="Who was it?").values == {"same": True}


def test_thoughts_are_ignored_and_one_output_needs_no_title() -> None:
    text = "<think>Grounded: no, 90</think>The passage says so - yes, 80"
    critic = VerdictCritic(Writing(text), "grounding")
    decision = decide(STEPS["grounding"].predictor(), critic, passage="P.", question="Q?", answer="A")
    assert decision.probabilities == pytest.approx({"grounded": 0.9})
    assert decision.reasons == {"grounded": "The passage says so"}


def test_scores_become_levels() -> None:
    text = (
        "Self-contained: it names the ferry - yes, 90\nContent: prose - yes, 90\n"
        "Clarity: plain - 3, 90\nDepth: little in it - 1, 70\nStructure: in order - 3\nRelevance: no idea\n"
        "Fit: it will do - yes, 90"
    )
    decision = decide(STEPS["chunk"].predictor(), VerdictCritic(Writing(text), "chunk"), topic="T", passage="P.")
    assert decision.good
    assert decision.levels == {"clarity": 2.0, "depth": 0.0, "structure": 2.0, "relevance": 1.0}
    assert decision.reasons["depth"] == "little in it"


def test_demos_become_turns_with_reasons() -> None:
    lm = Writing(GOOD)
    predict = dspy.Predict(JudgeQuestion)
    predict.demos = [
        dspy.Example(passage="The mill burned.", question="What burned?", clear=True, explanation="one thing"),
        dspy.Example(passage="The mill burned.", question="What burned?", answerable=False),
    ]
    decide(predict, VerdictCritic(lm, "judge"), passage="P.", question="Q?")
    _, first, one, second, other, last = chat(lm.requests[0])
    assert (first, one) == ("Passage: The mill burned.\nQuestion: What burned?", "Clear: one thing - yes, 95")
    assert second == first
    assert other.startswith("Answerable: The passage does not give the answer")
    assert other.endswith(" - no, 95")
    assert last == "Passage: P.\nQuestion: Q?"


def test_acall_retries_and_decides() -> None:
    lm = Writing("?", GOOD)
    critic = VerdictCritic(lm, "judge")
    question = {"type": "noul", "instructions": "Fit?"}
    state = {"instructions": "Decide.", "inputs": {"passage": "P."}}
    assert asyncio.run(critic.acall(state, {"fit": question})) == {
        "fit": {"noul": pytest.approx(0.95), "reason": "nothing is wrong"}
    }


def test_open_critics_verdict_covers_deciding_steps() -> None:
    lm = SimpleNamespace(lm=Writing(GOOD), name="x")
    opened = open_critics("verdict", languages=Languages(LANGUAGES), language_model=lm)
    assert {"chunk", "judge", "same", "grounding"} <= opened.keys()
    with pytest.raises(InputError, match=r"^--critic verdict needs a language model"):
        open_critics("verdict", languages=Languages(LANGUAGES))
