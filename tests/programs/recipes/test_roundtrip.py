"""The recipe ``roundtrip``: one question about every long chunk, at any rank."""

import pytest
from scripted_program import (
    GOOD,
    TEXT,
    ScriptedEngine,
    attempt_on,
    chunk_of,
    languages_with,
    make_attempt,
    material_of,
    offers_of,
    reasons,
    tools_of,
)

from programs.analysis import read_chunk
from programs.recipes import RECIPES
from programs.recipes.base import Past
from programs.recipes.roundtrip import RoundTripOptions
from programs.types import Attempt, StepRecord

ROUNDTRIP = RECIPES["roundtrip"]
LAST = 2


def agenda_of(*contexts, **options):
    return ROUNDTRIP.agenda(material_of(contexts), RoundTripOptions(**options), 0)


def make(script, demos, *, round=0, attempt=None, candidates=1, **tools):
    engine = ScriptedEngine(script)
    attempt = attempt or attempt_on("roundtrip", "simple", chunk_of(), None, round=round, candidates=candidates)
    program = ROUNDTRIP.program(tools_of(demos=demos, **tools), RoundTripOptions(candidates=candidates))
    outcome, _ = make_attempt(program, attempt, engine)
    return outcome, engine


def test_agenda_has_all_long_chunks():
    texts = {"short": "x" * 100, "long": "x" * 101, "refused": TEXT}
    contexts = [read_chunk(chunk_of(text, name), languages_with(None)) for name, text in texts.items()]
    contexts[2] = contexts[2].model_copy(
        update={"score": StepRecord(step="chunk", verdict="bad", reason="not content")}
    )
    agenda = agenda_of(*contexts)
    assert agenda.keys == ("long", "refused")
    assert agenda.counts == {"chunks": 3, "long enough": 2}
    assert agenda_of(*contexts, longer_than=99).keys == ("short", "long", "refused")
    assert all(set(agenda.offers(key, 0, ())) == {"simple"} for key in agenda.keys)


def test_chunk_is_offered_with_unused_foci_until_accepted():
    context = read_chunk(chunk_of(), languages_with(None))
    first = offers_of("roundtrip", [context], candidates=1)["simple"][0].foci
    failed = Past("simple", first, None, exhausted=False)
    second = offers_of("roundtrip", [context], [failed], round=1, candidates=1)["simple"][0].foci
    assert len(first) == len(second) == 1
    assert first != second
    assert offers_of("roundtrip", [context], [failed._replace(accepted="simple")], round=1) == {}
    assert offers_of("roundtrip", [context], [failed._replace(exhausted=True)], round=1) == {}
    everything = Past("simple", context.foci, None, exhausted=False)
    assert offers_of("roundtrip", [context], [everything], round=1)["simple"][0].foci == ()


@pytest.mark.parametrize("rank", [1, 40, None])
def test_question_is_kept_at_any_rank_with_one_call(demos, rank):
    outcome, engine = make({}, demos, rank=rank)
    (draft,) = outcome.drafts
    assert (draft.question, draft.answer, draft.retrieval.rank) == (GOOD, "22 February 2009", rank)
    assert draft.relevant == (("ferry-0001",),)
    assert engine.steps == ["question"]
    assert not outcome.rejects


def test_best_candidate_is_kept(demos):
    vague = "When did it strike the rock?"
    judged = {"bad": lambda name, inputs: name == "independent" and inputs["question"] == vague}
    outcome, _ = make({"question": [vague, GOOD]}, demos, candidates=2, **judged)
    assert [draft.question for draft in outcome.drafts] == [GOOD]


def test_refused_question_is_accepted_only_in_the_last_round(demos):
    script = {"question": "When did it strike?", "feedback": "Name it.", "rewrite": "When did she strike?"}
    refused = {"bad": lambda name, inputs: name == "independent"}
    for round in range(LAST):
        outcome, _ = make(script, demos, round=round, **refused)
        assert not outcome.drafts
        assert reasons(outcome) == [("judge", "none of the questions is good")]
    outcome, _ = make(script, demos, round=LAST, **refused)
    assert [(draft.question, draft.probability) for draft in outcome.drafts] == [("When did she strike?", 0.4)]


def test_refused_question_is_accepted_if_exhausted(demos):
    context = read_chunk(chunk_of(), languages_with(None)).model_copy(update={"foci": ()})
    attempt = Attempt(number=0, contexts=(context,), wanted="simple")
    script = {"question": "When did it strike?", "feedback": "Name it.", "rewrite": "When did she strike?"}
    refused = {"bad": lambda name, inputs: name == "independent"}
    outcome, engine = make(script, demos, attempt=attempt, candidates=9, **refused)
    assert engine.steps[0] == "keyphrases"
    assert outcome.exhausted
    assert len(outcome.drafts) == 1


def test_used_foci_are_reused_if_none_are_left(demos):
    context = read_chunk(chunk_of(), languages_with(None))
    attempt = Attempt(
        number=1, contexts=(context.model_copy(update={"foci": ()}),), wanted="simple", used_foci=context.foci, round=1
    )
    script = {"keyphrases": "", "question": "When did it strike?", "feedback": "-", "rewrite": "When did she strike?"}
    outcome, _ = make(script, demos, attempt=attempt, bad=lambda name, inputs: name == "independent")
    assert [draft.question for draft in outcome.drafts] == ["When did she strike?"]


@pytest.mark.parametrize("written", ["", "Grey Widow", "It was?", "Who?"])
def test_non_question_is_never_accepted(demos, written):
    outcome, _ = make({"question": written, "feedback": "-", "rewrite": written}, demos, round=LAST)
    assert not outcome.drafts


def test_chunk_without_foci_is_refused_once(demos):
    context = read_chunk(chunk_of("x" * 200), languages_with(None))
    attempt = Attempt(number=0, contexts=(context,), wanted="simple")
    outcome, engine = make({"keyphrases": ""}, demos, attempt=attempt)
    assert outcome.exhausted
    assert engine.steps == ["keyphrases"]
    assert reasons(outcome) == [("keyphrases", "no further sentence can carry a question")]
