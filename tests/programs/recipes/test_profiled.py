"""The recipe ``profiled``."""

from pathlib import Path
from typing import Any

import pytest
from scripted_program import (
    DECIDING,
    Bad,
    ListRetriever,
    Script,
    ScriptedCritic,
    ScriptedEngine,
    context_of,
    make_attempt,
    material_of,
    nothing_is_bad,
    reasons,
    tools_of,
)

from groundset.data_files import data_path
from programs.demos import Demos
from programs.errors import InputError
from programs.modes import MODES
from programs.profiles import read_profiles
from programs.recipes import RECIPES
from programs.recipes.base import Past
from programs.recipes.by_clue import ByClue
from programs.recipes.profiled import ProfiledOptions
from programs.types import Attempt, Context, Focus, Outcome, StepRecord

PROFILED = RECIPES["profiled"]
TABLE = read_profiles(data_path("profiles", "default.json"))
RULES = context_of("a-rules", ("Milk above 6 degrees is refused at Tarn Dairy.", "6"), doc_id="dairy")
COSTS = context_of("b-costs", ("A check of the tank costs 40 crowns at Tarn Dairy.", "40"), doc_id="dairy")
OTHER = context_of("c-other", ("The mill of Orsle was built in 1822.", "1822"), doc_id="mill")
CLUE = "What does Tarn Dairy do with warm milk?"
ASKED = "From how many degrees on does Tarn Dairy refuse milk?"
PROFILE = "Type: {} | Persona: newcomer | Scope: one statement | Difficulty: easy"
SHORT = {"Type": "short", "Persona": "newcomer", "Scope": "one statement", "Difficulty": "easy"}
EVIDENCE = "Milk above 6 degrees is refused at Tarn Dairy."
BOTH = f"{EVIDENCE} | A check of the tank costs 40 crowns at Tarn Dairy."


def written(question: str = ASKED, answer: str = "6 degrees", options: str = "none", evidence: str = EVIDENCE) -> str:
    return f"Question: {question}\nOptions: {options}\nAnswer: {answer}\nEvidence: {evidence}"


SCRIPT: dict[str, Any] = {
    "clues": f"Clue: {CLUE}\nExample: It is poured away.\nDescription: A member asks.\n\nClue: Who pays the check?",
    "distil": "Needed: 1\nMissing: nothing",
    "profiles": PROFILE.format("short"),
    "ask_profiled": written(),
    "answer": "6 degrees",
}


def bad_with(name: str, **parts: str) -> Bad:
    """Return a critic's rule: an output is bad for inputs with these texts."""
    return lambda output, inputs: output == name and all(text in inputs[field] for field, text in parts.items())


def only_relevant(*contexts: Context) -> Bad:
    kept = {context.passage for context in contexts}
    return lambda output, inputs: output == "relevant" and inputs["passage"] not in kept


def make(
    demos: Demos,
    script: Script,
    bad: Bad = nothing_is_bad,
    *,
    round: int = 0,
    used: tuple[Focus, ...] = (),
    corpus: tuple[Context, ...] = (RULES, COSTS, OTHER),
    found: tuple[Context, ...] = (RULES, COSTS),
    **options: Any,
) -> tuple[Outcome, ScriptedEngine, list[StepRecord]]:
    engine = ScriptedEngine({**SCRIPT, **script})
    tools = tools_of(
        demos=demos,
        mode="free",
        critics=dict.fromkeys(DECIDING, ScriptedCritic(bad)),
        retriever=ListRetriever(*(context.chunk for context in found)),
        corpus={context.chunk.chunk_id: context for context in corpus},
        profiles=TABLE,
    )
    attempt = Attempt(number=0, contexts=(RULES.with_foci(),), wanted="profiled", round=round, used_foci=used)
    outcome, seen = make_attempt(PROFILED.program(tools, ProfiledOptions(**options)), attempt, engine)
    return outcome, engine, seen


def shown(engine: ScriptedEngine, step: str) -> str:
    return str(engine.requests[engine.steps.index(step)].messages[-1].text)


def test_question_for_a_profile(demos: Demos) -> None:
    outcome, engine, seen = make(demos, {}, only_relevant(RULES))
    (draft,) = outcome.drafts
    assert (draft.question, draft.answer, draft.evolution) == (ASKED, "6 degrees", "profiled")
    assert draft.relevant == (("a-rules",),)
    assert (draft.metadata["profile"], draft.metadata["clue"]) == (SHORT, CLUE)
    assert draft.metadata["focus"] == EVIDENCE
    assert engine.steps == ["clues", "distil", "profiles", "ask_profiled", "answer"]
    steps = ["chunk", "clues", "relevance", "relevance", "distil", "profiles", "ask_profiled", "judge", "fits"]
    assert [record.step for record in seen] == [*steps, "answer", "grounding"]
    assert list(draft.trail) == seen
    assert not outcome.rejects
    assert not outcome.exhausted
    assert [focus.wording for focus in outcome.used_foci] == [ASKED]


def test_steps_see_clue_chunks_and_profile(demos: Demos) -> None:
    _, engine, _ = make(demos, {})
    assert shown(engine, "distil").startswith(f"Question: {CLUE} (A member asks.)\nPassages: [1] a-rules\n")
    assert "\n\n[2] b-costs\n" in shown(engine, "distil")
    assert "Persona: who asks" in shown(engine, "profiles")
    assert "Type: short (asks for one fact" in shown(engine, "ask_profiled")


def test_each_round_uses_the_next_clue(demos: Demos) -> None:
    outcome, engine, _ = make(demos, {}, round=1, used=(Focus(sentence="", answer="", wording="Who?"),))
    assert outcome.drafts[0].metadata["clue"] == "Who pays the check?"
    assert "Asked already: Who?" in shown(engine, "ask_profiled")
    outcome, engine, _ = make(demos, {}, round=2)
    assert (outcome.drafts, outcome.rejects, outcome.exhausted) == ((), (), True)
    assert engine.steps == ["clues"]


def test_chunk_without_clues_is_exhausted(demos: Demos) -> None:
    outcome, _, _ = make(demos, {"clues": "I cannot do that."})
    assert reasons(outcome) == [("clues", "no clue can be read from what was written")]
    assert outcome.exhausted


def test_refused_chunk_makes_no_call(demos: Demos) -> None:
    outcome, engine, _ = make(demos, {}, bad_with("content"))
    assert (engine.steps, outcome.exhausted) == ([], True)
    assert [reject.step for reject in outcome.rejects] == ["chunk"]


@pytest.mark.parametrize(
    ("relevant", "needed", "kept"),
    [((RULES,), "none", ["a-rules"]), ((), "1", ["a-rules"]), ((COSTS,), "1", ["a-rules", "b-costs"])],
)
def test_chunks_relevant_alone_or_needed_together_are_kept(
    demos: Demos, relevant: tuple[Context, ...], needed: str, kept: list[str]
) -> None:
    _, _, seen = make(demos, {"distil": f"Needed: {needed}\nMissing: nothing"}, only_relevant(*relevant))
    (record,) = (record for record in seen if record.step == "distil")
    assert record.output["kept"] == kept


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Needed: 1\nMissing: who pays", "the chunks do not say"),
        ("Needed: none\nMissing: nothing", "no chunk is needed"),
        ("I cannot do that.", "whether the chunks suffice cannot be read from what was written"),
    ],
)
def test_clue_that_is_not_answered_is_refused(demos: Demos, text: str, reason: str) -> None:
    outcome, engine, seen = make(demos, {"distil": text}, only_relevant())
    assert reasons(outcome) == [("distil", reason)]
    assert outcome.rejects[0].question == CLUE
    assert engine.steps == ["clues", "distil"]
    assert seen[-1].verdict == "bad"
    assert not outcome.exhausted


def test_search_adds_the_chunk_of_the_clue_and_neighbours(demos: Demos) -> None:
    pages = tuple(
        context.model_copy(update={"chunk": context.chunk.model_copy(update={"start": place, "end": place})})
        for place, context in enumerate(context_of(f"page-{n}", (f"It is page {n}.", ""), doc_id="p") for n in range(5))
    )
    german = context_of("page-de", ("Das ist eine Seite.", ""), language="de", doc_id="q")
    bad = context_of("page-bad", ("Links.", ""), doc_id="q")
    bad = bad.model_copy(update={"score": StepRecord(step="chunk", verdict="bad")})
    corpus = (bad, german, *reversed(pages), RULES)
    for neighbours, found in ((0, ["page-3"]), (1, ["page-2", "page-3", "page-4"])):
        _, _, seen = make(demos, {}, corpus=corpus, found=(pages[3], german, bad), neighbours=neighbours)
        judged = [record.output["chunk"] for record in seen if record.step == "relevance"]
        assert judged == ["a-rules", *found]


def test_top_k_limits_the_search(demos: Demos) -> None:
    _, _, seen = make(demos, {}, found=(COSTS, OTHER), top_k=1)
    assert [record.output["chunk"] for record in seen if record.step == "relevance"] == ["a-rules", "b-costs"]


def test_unreadable_profiles_are_refused(demos: Demos) -> None:
    outcome, engine, _ = make(demos, {"profiles": "Type: riddle"})
    assert reasons(outcome) == [("profiles", "no profile can be read from what was written")]
    assert "ask_profiled" not in engine.steps


def test_own_dimensions(demos: Demos) -> None:
    values = {"figure": {"description": "asks for a number"}}
    table = {"parameters": {"Form": {"description": "the form", "values": values}}}
    outcome, engine, _ = make(demos, {"profiles": "Form: figure"}, profile_file=table)
    assert outcome.drafts[0].metadata["profile"] == {"Form": "figure"}
    assert "Profile: Form: figure (asks for a number)" in shown(engine, "ask_profiled")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I cannot do that.", "no question with an answer was written"),
        ("none", "the passages have nothing that fits the profile"),
        (written("none", "none"), "the passages have nothing that fits the profile"),
        (written(answer=""), "no question with an answer was written"),
        (written(evidence="Milk is poured away."), "its evidence is not in the passages"),
        (written(options="6 degrees | 8 degrees"), "it has 2 options; 3 to 8 are wanted"),
        (written(options="5 degrees | 7 degrees | 8 degrees"), "the answer is not among the options"),
    ],
)
def test_simple_checks_of_a_written_question(demos: Demos, text: str, reason: str) -> None:
    outcome, engine, _ = make(demos, {"ask_profiled": text})
    assert reasons(outcome) == [("ask_profiled", reason)]
    assert engine.steps[-1] == "ask_profiled"


@pytest.mark.parametrize(
    ("bad", "script", "reason"),
    [
        (bad_with("clear"), {}, ("judge", "not clear")),
        (bad_with("fits"), {}, ("fits", "not fits")),
        (bad_with("agree"), {"answer": "7 degrees"}, ("answer", "another answer than expected")),
        (nothing_is_bad, {"answer": "not stated"}, ("answer", "not found in the passage")),
        (bad_with("grounded"), {}, ("grounding", "answer not supported")),
    ],
)
def test_checks_refuse_a_question(demos: Demos, bad: Bad, script: Script, reason: tuple[str, str]) -> None:
    outcome, _, _ = make(demos, script, bad)
    assert (outcome.drafts, reasons(outcome)) == ((), [reason])


def test_next_profile_is_tried_if_a_question_fails(demos: Demos) -> None:
    script = {
        "profiles": "\n".join(PROFILE.format(form) for form in ("short", "open", "opinion")),
        "ask_profiled": [written("none", "none"), written()],
    }
    outcome, engine, _ = make(demos, script)
    assert engine.steps.count("ask_profiled") == 2
    assert [reject.step for reject in outcome.rejects] == ["ask_profiled"]
    (draft,) = outcome.drafts
    assert {record.candidate for record in draft.trail if record.step == "ask_profiled"} == {1}
    assert f"Type: {draft.metadata['profile']['Type']} (" in str(engine.requests[4].messages[-1].text)


def test_options_belong_to_the_sample_and_are_hidden_from_the_other_checks(demos: Demos) -> None:
    script = {
        "profiles": PROFILE.format("multiple choice"),
        "ask_profiled": written(options="4 degrees | 6 degrees | 8 degrees | 10 degrees"),
    }
    critic_sees: list[tuple[str, str]] = []

    def watch(output: str, inputs: dict[str, Any]) -> bool:
        if output in ("answerable", "fits", "grounded"):
            critic_sees.append((output, inputs["question"]))
        return False

    outcome, engine, _ = make(demos, script, watch)
    (draft,) = outcome.drafts
    assert draft.question.startswith(f"{ASKED} A) ")
    assert draft.answer[1:] == ") 6 degrees"
    assert draft.answer in draft.question
    asked = {output: question for output, question in critic_sees}
    assert asked == {"answerable": ASKED, "fits": draft.question, "grounded": ASKED}
    assert shown(engine, "answer").endswith(f"Question: {ASKED}")


def test_row_of_a_table_is_evidence(demos: Demos) -> None:
    table = context_of("a-rules", ("| A | Milk above 6 degrees | refused |", "6"))
    outcome, _, _ = make(demos, {"ask_profiled": written(evidence=table.passage)}, corpus=(table,), found=(table,))
    assert outcome.drafts[0].metadata["focus"] == "Milk above 6 degrees refused"


def test_question_keeps_only_the_chunks_that_it_needs(demos: Demos) -> None:
    both = {"distil": "Needed: 1, 2\nMissing: nothing", "ask_profiled": written(evidence=BOTH)}
    needs_both = {**both, "answer": ["not stated", "not stated", "6 degrees"]}
    outcome, _, _ = make(demos, needs_both)
    assert outcome.drafts[0].relevant == (("a-rules",), ("b-costs",))
    needs_rules = {**both, "answer": ["not stated", "6 degrees", "6 degrees"]}
    outcome, _, _ = make(demos, needs_rules)
    assert outcome.drafts[0].relevant == (("a-rules",),)
    assert outcome.drafts[0].metadata["focus"] == EVIDENCE


WIDE = PROFILE.format("short").replace("one statement", "several passages")


@pytest.mark.parametrize(
    ("profile", "answers", "scope", "relevant"),
    [
        (WIDE, ["not stated", "not stated", "6 degrees"], "several passages", (("a-rules",), ("b-costs",))),
        (WIDE, ["not stated", "6 degrees", "6 degrees"], "one passage", (("a-rules",),)),
        (PROFILE.format("short"), ["not stated", "not stated", "6 degrees"], "several passages",
         (("a-rules",), ("b-costs",))),
    ],
)  # fmt: skip
def test_profile_says_how_many_passages_the_answer_needs(
    demos: Demos, profile: str, answers: list[str], scope: str, relevant: Any
) -> None:
    fitted = []

    def bad(output: str, inputs: dict[str, Any]) -> bool:
        if output == "fits":
            fitted.append(inputs["profile"])
        return False

    script = {
        "distil": "Needed: 1, 2\nMissing: nothing", "profiles": profile, "answer": answers,
        "ask_profiled": written(evidence=BOTH),
    }  # fmt: skip
    outcome, *_ = make(demos, script, bad)
    (draft,) = outcome.drafts
    assert draft.relevant == relevant
    assert draft.metadata["profile"] == {**SHORT, "Scope": scope}
    assert [f"Scope: {scope} (" in shown for shown in fitted] == [True]


def test_one_chunk_cannot_have_a_profile_of_several(demos: Demos) -> None:
    profiles = "\n".join((WIDE, WIDE.replace("several passages", "one passage")))
    script = {"profiles": profiles, "ask_profiled": written(question="none")}
    outcome, engine, _ = make(demos, script, only_relevant(RULES))
    assert reasons(outcome) == [("ask_profiled", "the passages have nothing that fits the profile")]
    assert engine.steps.count("ask_profiled") == 1, "both are the same profile then"
    assert "Scope: one passage (" in shown(engine, "ask_profiled")


def test_option_stays_the_answer_when_a_chunk_is_left_out(demos: Demos) -> None:
    choices = written(options="5 degrees | 6 degrees | 7 degrees", evidence=BOTH)
    script = {
        "distil": "Needed: 1, 2\nMissing: nothing", "profiles": PROFILE.format("multiple choice"),
        "ask_profiled": choices, "answer": ["not stated", "it is 6 degrees", "it is 6 degrees"],
    }  # fmt: skip
    outcome, *_ = make(demos, script, lambda output, inputs: output == "grounded" and inputs["answer"] == "6 degrees")
    assert not outcome.drafts
    assert reasons(outcome) == [("grounding", "answer not supported")]
    outcome, *_ = make(demos, script)
    assert outcome.drafts[0].answer.endswith(") 6 degrees")


def test_probability_is_the_lowest_of_all_decisions(demos: Demos) -> None:
    class Unsure(ScriptedCritic):
        def __call__(self, state: dict[str, Any], questions: dict[str, Any]) -> dict[str, Any]:
            return {"fits": {"noul": 0.7}} if "fits" in questions else super().__call__(state, questions)

    engine = ScriptedEngine(SCRIPT)
    tools = tools_of(
        demos=demos, mode="free", critics=dict.fromkeys(DECIDING, Unsure()), retriever=ListRetriever(RULES.chunk),
        corpus={"a-rules": RULES}, profiles=TABLE,
    )  # fmt: skip
    attempt = Attempt(number=0, contexts=(RULES,), wanted="profiled")
    outcome, _ = make_attempt(PROFILED.program(tools, ProfiledOptions()), attempt, engine)
    assert outcome.drafts[0].probability == 0.7


def test_agenda_samples_documents_and_chunks() -> None:
    contexts = [context_of(f"{doc}-{n}", (f"It is {n}.", ""), doc_id=doc) for n in range(3) for doc in "abc"]
    refused = StepRecord(step="chunk", verdict="bad")
    contexts[0] = contexts[0].model_copy(update={"score": refused})

    def keys(**options: Any) -> list[str]:
        return list(PROFILED.agenda(material_of(contexts, mode="free"), ProfiledOptions(**options), 5).keys)

    assert keys() == ["b-0", "c-0", "a-1", "b-1", "c-1", "a-2", "b-2", "c-2"]
    assert keys(max_documents=2) == ["b-0", "c-0", "b-1", "c-1", "b-2", "c-2"]
    assert keys(chunks_per_document=1) == ["b-0", "c-0", "a-1"]
    assert keys(max_documents=1, chunks_per_document=2) == ["b-0", "b-1"]


def test_agenda_offers_a_chunk_once_for_each_clue() -> None:
    agenda = ByClue(material_of([RULES], mode="free"), "profiled", clues=4)
    assert agenda.rounds == 4
    assert agenda.offers("a-rules", 0, ()) == {"profiled": (RULES.with_foci(),)}
    past = Past("profiled", (), "profiled", exhausted=False)
    assert agenda.offers("a-rules", 1, [past])
    assert agenda.offers("a-rules", 2, [past, past._replace(exhausted=True)]) == {}


def test_options(tmp_path: Path) -> None:
    assert PROFILED.merge == 3
    assert PROFILED.shares(7, ProfiledOptions()) == {"profiled": 7}
    assert ProfiledOptions().compared()["profile_file"] is None
    own = ProfiledOptions(profile_file=data_path("profiles", "default.json"))
    assert own.compared()["profile_file"] == {"name": "Type, Persona, Scope, Difficulty", "sha256": TABLE.sha256}
    with pytest.raises(InputError, match=r"^--profile-file .*none\.json: No such file"):
        ProfiledOptions(profile_file=tmp_path / "none.json")
    for name in ("guided", "sentence"):
        with pytest.raises(ValueError, match=f"mode {name} does not support it; use --mode free"):
            ProfiledOptions().in_mode(MODES[name])
