"""The stage ``round trip``: the rank of a question's chunks and of alternatives."""

from typing import Any

import pytest
from scripted_program import (
    BROCK,
    FOUNDED,
    ListRetriever,
    ScriptedCritic,
    chunk_of,
    context_of,
    nothing_is_bad,
    tools_of,
    trail_of,
)

from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.stages.round_trip import RoundTrip, RoundTripResult
from programs.trail import Trail
from programs.types import Attempt, Chunk, Context

YARD, PERSON = context_of("yard", FOUNDED), context_of("brock", BROCK)
ASKED = "In which year was the Lodrin yard founded?"
BRIDGE = "In which year did the shipwright who grew up in Sandgate found the Lodrin yard?"
TWIN = chunk_of("In **1911** came the year when the shipwright's yard at Lodrin was founded.", "twin")
LACKING = chunk_of("The Lodrin yard was founded by a shipwright in the year of the storm.", "lacking")
OTHER = chunk_of("Of 1911 the books say that prices of butter rose.", "other")


def round_trip(
    question: str,
    contexts: tuple[Context, ...],
    *hits: Chunk,
    bad: Any = nothing_is_bad,
    max_rank: int = 5,
    low: float = 0.4,
) -> tuple[RoundTripResult | None, Trail]:
    critic = ScriptedCritic(bad, low)
    tools = tools_of(critics={"judge": critic}, retriever=ListRetriever(*hits))
    judging = JudgeAndRewrite(tools)
    trail, _ = trail_of(Attempt(number=0, contexts=contexts, wanted="simple"))
    judged = judging(trail, 0, YARD.foci[0], question)
    return RoundTrip(tools, judging, max_rank)(trail, judged), trail


def test_alternative_chunk_joins_the_group_and_its_rank_counts() -> None:
    found, trail = round_trip(ASKED, (YARD,), TWIN, OTHER, YARD.chunk, max_rank=1)
    assert found is not None
    assert found.relevant == (("yard", "twin"),)
    assert (found.retrieval.rank, found.retrieval.score) == (1, 1)
    record = trail.records_of(0)[-1]
    assert (record.step, record.output["rank"], record.output["rank without"]) == ("alternatives", 1, 3)


@pytest.mark.parametrize("hit", [LACKING, OTHER])
def test_chunk_without_answer_or_question_words_is_no_alternative(hit: Chunk) -> None:
    found, trail = round_trip(ASKED, (YARD,), hit, YARD.chunk)
    assert found is not None
    assert (found.relevant, found.retrieval.rank) == ((("yard",),), 2)
    assert "alternatives" not in [record.step for record in trail.records_of(0)]


def test_chunk_refused_by_the_critic_is_no_alternative() -> None:
    def refuses(fault: str) -> Any:
        return lambda name, inputs: name == fault and "came the year" in inputs["passage"]

    for fault, low in (("answerable", 0.4), ("clear", 0.4), ("answerable", 0.87)):
        found, _ = round_trip(ASKED, (YARD,), TWIN, YARD.chunk, bad=refuses(fault), low=low)
        assert found is not None
        assert (found.relevant, found.retrieval.rank) == ((("yard",),), 2)


def test_critic_sees_the_alternative_instead_of_the_source() -> None:
    critic = ScriptedCritic()
    tools = tools_of(critics={"judge": critic}, retriever=ListRetriever(TWIN))
    judging = JudgeAndRewrite(tools)
    trail, _ = trail_of(Attempt(number=0, contexts=(PERSON, YARD), wanted="multi_context"))
    RoundTrip(tools, judging, 5)(trail, judging(trail, 0, YARD.foci[0], BRIDGE))
    assert [asked["passage"] for asked in critic.asked] == [
        f"{BROCK[0]}\n\n{FOUNDED[0]}",
        f"{BROCK[0]}\n\n{TWIN.text.replace('*', '')}",
    ]


def test_language_model_sees_the_alternative_under_its_own_headings() -> None:
    critic = ScriptedCritic()
    critic.is_llm_judge = True  # type: ignore[attr-defined]
    twin = TWIN.model_copy(update={"title": "Shipwrights", "headings": ()})
    tools = tools_of(critics={"judge": critic}, retriever=ListRetriever(twin))
    judging = JudgeAndRewrite(tools)
    trail, _ = trail_of(Attempt(number=0, contexts=(YARD,), wanted="simple"))
    RoundTrip(tools, judging, 5)(trail, judging(trail, 0, YARD.foci[0], ASKED))
    assert [asked["passage"].splitlines()[0] for asked in critic.asked] == [f"[{YARD.topic}]", "[Shipwrights]"]


@pytest.mark.parametrize(
    ("hits", "groups", "rank"),
    [
        ((YARD.chunk, OTHER, PERSON.chunk), (("brock",), ("yard",)), 3),
        ((TWIN, PERSON.chunk, OTHER, YARD.chunk), (("brock",), ("yard", "twin")), 2),
        ((PERSON.chunk, OTHER, TWIN), (("brock",), ("yard", "twin")), 3),
    ],
)
def test_rank_is_that_of_the_last_group(hits: Any, groups: Any, rank: int) -> None:
    found, _ = round_trip(BRIDGE, (PERSON, YARD), *hits)
    assert found is not None
    assert (found.relevant, found.retrieval.rank) == (groups, rank)


def test_low_rank_refuses_the_question() -> None:
    for hits, reason in (
        ((YARD.chunk, TWIN), "source chunk not found"),
        ((YARD.chunk, OTHER, PERSON.chunk), "source chunk too far: rank 3"),
    ):
        found, trail = round_trip(BRIDGE, (PERSON, YARD), *hits, max_rank=2)
        assert found is None
        assert [(reject.step, reject.reason) for reject in trail.outcome().rejects] == [("retrieval", reason)]
        recorded, _ = round_trip(BRIDGE, (PERSON, YARD), *hits, max_rank=0)
        assert recorded is not None


def test_chunk_without_question_words_has_no_alternatives() -> None:
    found, _ = round_trip(ASKED, (YARD, PERSON), YARD.chunk, PERSON.chunk, OTHER)
    assert found is not None
    assert found.relevant == (("yard",), ("brock",))
