"""The agenda of recipes that ask about one chunk at a time."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_program import chunk_of, offers_of

from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.recipes.base import Past
from programs.recipes.by_chunk import ROUNDS, ByChunk
from programs.recipes.evolved import EvolvedOptions
from programs.recipes.kinds import KindPlan, limits
from programs.types import Context, Focus, StepRecord

KINDS = ("simple", "reasoning", "conditional")
GOOD, BAD = (StepRecord(step="chunk", verdict=verdict) for verdict in ("good", "bad"))


def context_of(easy=4, hard=2, *, evolvable=(), parsed=True, score=GOOD, name="c0"):
    """Return a chunk with easy foci before hard ones; ``evolvable`` are the places of the easy ones that carry more."""
    foci = tuple(
        Focus(sentence=f"Sentence {place}.", answer=str(place), easy=place < easy) for place in range(easy + hard)
    )
    return Context(
        chunk=chunk_of(name=name),
        passage="",
        topic="",
        language="en",
        parsed=parsed,
        foci=foci,
        evolvable={"simple": tuple(range(easy)), "reasoning": tuple(evolvable), "conditional": tuple(evolvable)},
        score=score,
    )


def agenda_of(*contexts, kinds=KINDS, size=2, only_easy=True, weights=None, **options):
    kind_plan = KindPlan(weights or {}, Languages(LANGUAGES))
    return ByChunk(contexts, kinds, size=size, only_easy=only_easy, kind_plan=kind_plan, **options)


def asking(name, *openings):
    """Return a chunk with easy foci with these openings; "What is" asks for a definition."""
    foci = tuple(
        Focus(sentence=f"S{n}.", answer=f"{opening} {n}", easy=True, opening=opening, defines=opening == "What is")
        for n, opening in enumerate(openings)
    )
    context = context_of(easy=len(foci), hard=0, name=name)
    return context.model_copy(update={"foci": foci})


def answers(offers):
    """Return the answers of the offered foci, by evolution."""
    return {kind: [focus.answer for focus in contexts[0].foci] for kind, contexts in offers.items()}


def past_of(offers, wanted, accepted=None, exhausted=False):
    return Past(wanted, offers[wanted][0].foci, accepted, exhausted)


def test_easy_foci_are_paged_and_parsed_chunks_have_no_hard_rounds():
    agenda = agenda_of(context_of(easy=3, hard=2, evolvable=(1, 2)))
    first = agenda.offers("c0", 0, ())
    assert answers(first) == {"simple": ["0", "1"], "reasoning": ["1", "2"], "conditional": ["1", "2"]}
    asked = past_of(first, "simple")
    assert agenda.offers("c0", 1, [asked]) == {}
    second = agenda.offers("c0", 2, [asked])
    assert answers(second) == {"simple": ["2"]}
    for round_ in (3, 4, 5):
        assert agenda.offers("c0", round_, [asked, past_of(second, "simple")]) == {}


def test_failed_evolution_is_retried_as_simple_in_round_two():
    agenda = agenda_of(context_of(evolvable=(0, 1)))
    first = agenda.offers("c0", 0, ())
    assert answers(agenda.offers("c0", 1, [past_of(first, "reasoning")])) == {"simple": ["0", "1"]}
    assert agenda.offers("c0", 1, [past_of(first, "reasoning", accepted="simple")]) == {}
    assert answers(agenda.offers("c0", 2, [past_of(first, "reasoning", accepted="simple")])) == {"simple": ["2", "3"]}


@pytest.mark.parametrize("wanted", ["simple", "reasoning"])
def test_postponed_foci_are_offered_again(wanted):
    agenda = agenda_of(context_of(evolvable=(0, 1)))
    first = agenda.offers("c0", 0, [])
    past = [past_of(first, wanted)._replace(postponed=True)]
    assert answers(agenda.offers("c0", 1, past)) == {"simple": ["0", "1"]}


def test_accepted_foci_are_not_offered_for_another_evolution():
    agenda = agenda_of(context_of(easy=3, evolvable=(0, 1, 2)), kinds=("reasoning", "conditional"), size=1)
    first = agenda.offers("c0", 0, ())
    accepted = past_of(first, "conditional", accepted="conditional")
    assert answers(agenda.offers("c0", 2, [accepted])) == {"reasoning": ["1"], "conditional": ["1"]}
    failed = past_of(first, "conditional")
    assert answers(agenda.offers("c0", 2, [failed])) == {"reasoning": ["0"], "conditional": ["1"]}


def test_evolution_without_foci_is_not_offered():
    assert set(agenda_of(context_of(evolvable=())).offers("c0", 0, ())) == {"simple"}
    assert agenda_of(context_of(evolvable=()), kinds=("reasoning",)).offers("c0", 0, ()) == {}
    assert agenda_of(context_of(easy=0, hard=5)).offers("c0", 0, ()) == {}


def test_foci_for_later_evolutions_of_the_mix_are_offered():
    context = asking("c0", "In which year did", "Who was").model_copy(
        update={"evolvable": {"reasoning": (0,), "conditional": (1,)}}
    )
    offers = agenda_of(context, kinds=("reasoning", "conditional")).offers("c0", 0, ())
    assert answers(offers) == {"reasoning": ["In which year did 0"], "conditional": ["Who was 1"]}


def test_hard_rounds_come_last_and_only_if_wanted():
    wanted = agenda_of(context_of(easy=1), only_easy=False)
    unread = agenda_of(context_of(easy=1, parsed=False), only_easy=True)
    for agenda in (wanted, unread):
        past = [past_of(agenda.offers("c0", 0, ()), "simple")]
        assert agenda.offers("c0", 3, past) == {}
        assert answers(agenda.offers("c0", 4, past)) == {"simple": []}
        assert answers(agenda.offers("c0", 5, past)) == {"simple": []}
        assert agenda.offers("c0", 5, [Past("simple", (), None, exhausted=True)]) == {}


def test_mix_without_simple_has_hard_rounds():
    agenda = agenda_of(context_of(evolvable=()), kinds=("reasoning",), only_easy=False)
    assert answers(agenda.offers("c0", 4, ())) == {"reasoning": []}


def test_refused_chunks_are_skipped_and_counted():
    contexts = (
        context_of(name="good"),
        context_of(name="bad", score=BAD),
        context_of(name="unscored", score=None, evolvable=(0,)),
        context_of(name="hard", easy=0),
    )
    agenda = agenda_of(*contexts)
    assert tuple(agenda.keys) == ("good", "unscored", "hard")
    assert agenda.counts == {
        "chunks": 4,
        "usable": 3,
        "can be asked simple": 2,
        "can be asked reasoning": 1,
        "can be asked conditional": 1,
    }


def test_once_stops_after_a_sample():
    past = [Past("simple", (), "simple", exhausted=False)]
    assert agenda_of(context_of()).offers("c0", 2, past)
    assert agenda_of(context_of(), once=True).offers("c0", 2, past) == {}


def test_evolved_offers_evolutions_of_the_mix():
    context = context_of(evolvable=(0, 1))
    assert set(offers_of("evolved", [context], mix="simple=1,conditional=1")) == {"simple", "conditional"}
    assert set(offers_of("evolved", [context], mix="simple=99,conditional=1", size=3)) == {"simple"}
    assert answers(offers_of("evolved", [context], candidates=3))["simple"] == ["0", "1", "2"]


def first_asked(agenda):
    """Return the answers offered for each chunk in the first round, and the deferred chunks."""
    offered = {key: answers(agenda.offers(key, 0, ())).get("simple") for key in agenda.keys}
    deferred = [key for key, page in offered.items() if page is None]
    assert not any(agenda.offers(key, round_, ()) for key in deferred for round_ in (1, 2))
    assert all(agenda.offers(key, 3, ()) for key in deferred)
    assert not any(
        agenda.offers(key, 1, [past_of(agenda.offers(key, 0, ()), "simple")]) for key in set(offered) - set(deferred)
    )
    return {key: page for key, page in offered.items() if page}, deferred


def test_kinds_alternate_over_chunks():
    agenda = agenda_of(
        asking("a", "When did", "Who was", "When was"),
        asking("b", "When did", "Who was"),
        asking("c", "When did", "What is", "What is", "What is"),
        asking("d", "When did"),
    )
    first, deferred = first_asked(agenda)
    assert first == {
        "a": ["When did 0", "When was 2"], "b": ["Who was 1"], "c": ["What is 1", "What is 2"], "d": ["When did 0"],
    }  # fmt: skip
    assert not deferred
    past = [past_of(agenda.offers("a", 0, ()), "simple")]
    assert answers(agenda.offers("a", 2, past)) == {"simple": ["Who was 1"]}


def test_chunk_with_only_full_kinds_is_deferred():
    agenda = agenda_of(*(asking(f"c{n}", "In which year did") for n in range(9)), asking("who", "Who was"))
    first, deferred = first_asked(agenda)
    assert list(first) == ["c0", "c1", "who"]
    assert deferred == [f"c{n}" for n in range(2, 9)]


def test_weights_change_kinds_and_zero_excludes_them():
    contexts = [asking(f"c{n}", "In which year did", "Who was") for n in range(8)]
    first, _ = first_asked(agenda_of(*contexts, weights={"time": 12}))
    asked = [page[0] for page in first.values()]
    assert asked.count("In which year did 0") == 7
    assert limits(10, {"time": 12, "place": 0}) == {
        "amount": 4, "definition": 4, "person": 4, "place": 0, "reason": 4, "thing": 4, "time": 8,
    }  # fmt: skip
    none = agenda_of(*contexts, weights={"time": 0, "person": 0})
    assert all(none.offers(key, round_, ()) == {} for key in none.keys for round_ in range(3))
    assert none.counts["can be asked simple"] == 0


@given(
    easy=st.integers(0, 12),
    hard=st.integers(0, 3),
    evolvable=st.sets(st.integers(0, 11)),
    parsed=st.booleans(),
    kinds=st.sets(st.sampled_from(KINDS), min_size=1).map(lambda kinds: tuple(kind for kind in KINDS if kind in kinds)),
    size=st.integers(1, 4),
    only_easy=st.booleans(),
    once=st.booleans(),
    luck=st.integers(0, 10**6),
)
def test_offers_are_valid_after_any_outcomes(easy, hard, evolvable, parsed, kinds, size, only_easy, once, luck):
    chance = random.Random(luck)
    context = context_of(easy, hard, evolvable=sorted(place for place in evolvable if place < easy), parsed=parsed)
    agenda = agenda_of(context, kinds=kinds, size=size, only_easy=only_easy, once=once)
    past = []
    for round_ in range(agenda.rounds):
        offers = agenda.offers("c0", round_, past)
        assert set(offers) <= set(kinds)
        if any(each.exhausted or (once and each.accepted) for each in past):
            assert not offers
        for kind, (offered,) in offers.items():
            if not offered.foci:
                assert round_ >= 4
                assert not (only_easy and parsed)
            assert len(offered.foci) <= size
            assert {context.foci.index(focus) for focus in offered.foci} <= set(context.evolvable[kind])
            assert all(focus.easy for focus in offered.foci)
            asked = [focus for each in past if each.wanted == kind or each.accepted for focus in each.foci]
            assert not set(asked) & set(offered.foci)
            assert offered.chunk == context.chunk
        if offers:
            wanted = chance.choice(sorted(offers))
            past.append(past_of(offers, wanted, chance.choice([None, None, wanted, "simple"]), chance.random() < 0.2))
    assert agenda.rounds == ROUNDS


@pytest.mark.parametrize(
    ("kinds", "reason"),
    [
        ("colour=1", "no kind of question is called 'colour'"),
        ("time=-1", "weights must be 0 or more"),
        ("time=nan", "weights must be 0 or more"),
        ("time", "not of the form"),
        ("amount=0,definition=0,person=0,place=0,reason=0,thing=0,time=0", "at least one weight must be above 0"),
    ],
)
def test_invalid_kinds_are_refused(kinds, reason):
    with pytest.raises(ValueError, match=reason):
        EvolvedOptions(kinds=kinds)
