"""The recipe ``single`` and its splits."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scripted_program import (
    GOOD,
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
from programs.recipes.single import SingleOptions, split_documents
from programs.types import Attempt

SINGLE = RECIPES["single"]
SPLITS = "train=0.8,dev=0.1,test=0.1"
shares = st.lists(st.integers(1, 20), min_size=1, max_size=5).map(
    lambda weights: {f"split{place}": weight / sum(weights) for place, weight in enumerate(weights)}
)


def make(script, attempt, demos, **tools):
    engine = ScriptedEngine(script)
    program = SINGLE.program(tools_of(demos=demos, **tools), SingleOptions(candidates=1, mix={attempt.wanted: 1.0}))
    outcome, _ = make_attempt(program, attempt, engine)
    return outcome, engine


def test_single_makes_a_sample(demos):
    outcome, engine = make({}, attempt_on("single", "simple", chunk_of(), None, candidates=1), demos)
    assert [(draft.question, draft.evolution, draft.split) for draft in outcome.drafts] == [(GOOD, "simple", None)]
    assert engine.steps == ["question", "answer"]


def test_refused_chunk_and_low_rank_give_no_sample(demos):
    attempt = attempt_on("single", "simple", chunk_of(), None, candidates=1)
    refused, engine = make({}, attempt, demos, bad=lambda name, inputs: name == "content")
    assert (refused.exhausted, engine.steps) == (True, [])
    assert reasons(make({}, attempt, demos, rank=6)[0]) == [("retrieval", "source chunk too far")]


def test_chunk_with_a_sample_is_not_offered():
    context = read_chunk(chunk_of(), languages_with(None))
    assert set(offers_of("single", [context])) == {"simple"}
    past = [Past("simple", (), "simple", exhausted=False)]
    assert all(not offers_of("single", [context], past, round=round) for round in range(1, 6))


def test_hard_round_uses_key_phrases(demos):
    attempt = attempt_on("single", "simple", chunk_of(), None, candidates=1, round=4)
    assert attempt.contexts[0].foci == ()
    outcome, engine = make({}, attempt, demos)
    assert engine.steps == ["keyphrases", "question", "answer"]
    assert len(outcome.drafts) == 1


def test_samples_have_the_split_of_their_document(demos):
    contexts = [
        read_chunk(chunk_of(name=f"d{document}-{place}", doc_id=f"d{document}"), languages_with(None))
        for place in range(3)
        for document in range(10)
    ]
    agenda = SINGLE.agenda(material_of(contexts), SingleOptions(splits=SPLITS), 20)
    offered = [(agenda.offers(key, 0, ()) or agenda.offers(key, 3, ()))["simple"][0] for key in agenda.keys]
    of_document = {}
    for context in offered:
        assert of_document.setdefault(context.chunk.doc_id, context.split) == context.split
    assert Counter(of_document.values()) == {"train": 8, "dev": 1, "test": 1}
    attempt = attempt_on("single", "simple", chunk_of(), None, candidates=1, splits="all=1")
    assert [draft.split for draft in make({}, attempt, demos)[0].drafts] == ["all"]


@given(documents=st.integers(1, 60), chunks=st.integers(1, 3), shares=shares)
def test_split_documents_follows_shares(documents, chunks, shares):
    drawn = [f"d{number}" for _ in range(chunks) for number in range(documents)]
    splits = split_documents(drawn, shares)
    assert list(splits) == drawn[:documents]
    counts = Counter(splits.values())
    if documents >= len(shares):
        assert set(counts) == set(shares)
    # Rounding and the minimum of one document per split change a count by less than the number of splits.
    assert all(abs(counts[name] - documents * share) < len(shares) for name, share in shares.items())


def test_splits_alternate():
    splits = split_documents([f"d{number}" for number in range(100)], {"train": 0.8, "dev": 0.1, "test": 0.1})
    for end in (20, 50, 80):
        early = Counter(list(splits.values())[:end])
        assert abs(early["train"] - 0.8 * end) <= 2
        assert abs(early["dev"] - 0.1 * end) <= 1


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ("train=0.8,dev=0.1", "shares must be above 0 and add up to 1"),
        ("train=1,dev=0", "shares must be above 0"),
        ("train=nan", "shares must be above 0"),
    ],
)
def test_invalid_splits_are_refused(splits, message):
    with pytest.raises(ValidationError, match=message):
        SingleOptions(splits=splits)


def test_finished_question_is_reworded_and_keeps_its_split(demos):
    wording = "date Henn Lady struck Grey Widow"
    context = read_chunk(chunk_of(), languages_with(None)).model_copy(update={"split": "dev"})
    attempt = Attempt(number=0, contexts=(context,), wanted="terse")
    outcome, engine = make({"reword": wording}, attempt, demos, bad=lambda name, inputs: name == "same")
    assert [(draft.question, draft.evolution, draft.split) for draft in outcome.drafts] == [
        (wording, "terse", "dev"),
        (GOOD, "simple", "dev"),
    ]
    assert engine.steps[-1] == "reword"
    offers = offers_of("single", [context], mix={"simple": 1, "terse": 1})
    assert list(offers) == ["simple", "terse"]
