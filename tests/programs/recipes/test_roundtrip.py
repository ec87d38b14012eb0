"""The recipe ``roundtrip``: one question about every chunk that is long enough, whatever its rank."""

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


def test_every_chunk_of_more_than_so_many_characters_is_asked_about():
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


def test_it_makes_as_many_samples_as_there_are_chunks_to_ask_about():
    assert ROUNDTRIP.size is None
    assert ROUNDTRIP.shares(7, RoundTripOptions()) == {"simple": 7}


def test_a_chunk_is_asked_until_it_gave_a_question_and_nothing_twice():
    context = read_chunk(chunk_of(), languages_with(None))
    first = offers_of("roundtrip", [context], candidates=1)["simple"][0].foci
    in_vain = Past("simple", first, None, exhausted=False)
    second = offers_of("roundtrip", [context], [in_vain], round=1, candidates=1)["simple"][0].foci
    assert len(first) == len(second) == 1
    assert first != second
    assert offers_of("roundtrip", [context], [in_vain._replace(accepted="simple")], round=1) == {}
    assert offers_of("roundtrip", [context], [in_vain._replace(exhausted=True)], round=1) == {}
    everything = Past("simple", context.foci, None, exhausted=False)
    assert offers_of("roundtrip", [context], [everything], round=1)["simple"][0].foci == ()


@pytest.mark.parametrize("rank", [1, 40, None])
def test_a_question_is_kept_at_any_rank_and_costs_one_call(demos, rank):
    outcome, engine = make({}, demos, rank=rank)
    (draft,) = outcome.drafts
    assert (draft.question, draft.answer, draft.retrieval.rank) == (GOOD, "22 February 2009", rank)
    assert draft.relevant == (("ferry-0001",),)
    assert engine.steps == ["question"]
    assert not outcome.rejects


def test_the_best_of_several_is_kept(demos):
    vague = "When did it strike the rock?"
    judged = {"bad": lambda name, inputs: name == "independent" and inputs["question"] == vague}
    outcome, _ = make({"question": [vague, GOOD]}, demos, candidates=2, **judged)
    assert [draft.question for draft in outcome.drafts] == [GOOD]


def test_what_the_critic_refuses_is_taken_in_the_last_round_only(demos):
    script = {"question": "When did it strike?", "feedback": "Name it.", "rewrite": "When did she strike?"}
    refused = {"bad": lambda name, inputs: name == "independent"}
    for round in range(LAST):
        outcome, _ = make(script, demos, round=round, **refused)
        assert not outcome.drafts
        assert reasons(outcome) == [("judge", "none of the questions is good")]
    outcome, _ = make(script, demos, round=LAST, **refused)
    assert [(draft.question, draft.probability) for draft in outcome.drafts] == [("When did she strike?", 0.4)]


def test_where_nothing_is_left_to_ask_later_the_best_is_taken_at_once(demos):
    context = read_chunk(chunk_of(), languages_with(None)).model_copy(update={"foci": ()})
    attempt = Attempt(number=0, contexts=(context,), wanted="simple")
    script = {"question": "When did it strike?", "feedback": "Name it.", "rewrite": "When did she strike?"}
    refused = {"bad": lambda name, inputs: name == "independent"}
    outcome, engine = make(script, demos, attempt=attempt, candidates=9, **refused)
    assert engine.steps[0] == "keyphrases"
    assert outcome.exhausted
    assert len(outcome.drafts) == 1


def test_where_all_was_asked_in_vain_the_best_of_that_is_taken(demos):
    context = read_chunk(chunk_of(), languages_with(None))
    attempt = Attempt(
        number=1, contexts=(context.model_copy(update={"foci": ()}),), wanted="simple", asked=context.foci, round=1
    )
    script = {"keyphrases": "", "question": "When did it strike?", "feedback": "-", "rewrite": "When did she strike?"}
    outcome, _ = make(script, demos, attempt=attempt, bad=lambda name, inputs: name == "independent")
    assert [draft.question for draft in outcome.drafts] == ["When did she strike?"]


@pytest.mark.parametrize("written", ["", "Grey Widow", "It was?", "Who?"])
def test_what_is_no_question_is_never_taken(demos, written):
    outcome, _ = make({"question": written, "feedback": "-", "rewrite": written}, demos, round=LAST)
    assert not outcome.drafts


def test_a_chunk_that_nothing_can_be_asked_about_is_refused_once(demos):
    context = read_chunk(chunk_of("x" * 200), languages_with(None))
    attempt = Attempt(number=0, contexts=(context,), wanted="simple")
    outcome, engine = make({"keyphrases": ""}, demos, attempt=attempt)
    assert outcome.exhausted
    assert engine.steps == ["keyphrases"]
    assert reasons(outcome) == [("keyphrases", "no further sentence can carry a question")]
