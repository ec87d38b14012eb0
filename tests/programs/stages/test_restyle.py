"""The stage ``restyle``: questions reworded by rule and by the model, in every recipe that mixes evolutions."""

from typing import Any

import dspy
import pytest
from scripted_program import (
    DECIDING,
    FixedRetriever,
    ScriptedCritic,
    ScriptedEngine,
    context_of,
    tools_of,
    trail_of,
)

from groundset.runtime.adapter import PlainTextAdapter
from programs.demos import Demos, in_style
from programs.evolutions import EVOLUTIONS
from programs.evolutions.persona import PERSONAS
from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.stages.restyle import Restyle
from programs.types import Attempt, Draft, Outcome, Retrieval, StepRecord

TEXT = "The tide mill of Orsle was built by Ada Lund in 1834. It ground oats for the garrison of Henn."
CONTEXT = context_of("mill-0001", (TEXT, "1834"), topic="Tide mills > Orsle")
QUESTION = "In what year did Ada Lund build the tide mill of Orsle?"
QUERIES = ("whats the wifi code pls", "who signs overtime", "lift stuck, call who pls", "how do i get a chair")
SITUATION = (
    "I am painting a board for the footpath and there is room left for one more line about the old mills here. In what "
    "year did Ada Lund build the tide mill of Orsle?"
)
SEED_RECORD = StepRecord(step="judge", candidate=0)
WORDED = {
    "conversational": "Do you know what year Ada Lund built the tide mill of Orsle in?",
    "terse": "year Ada Lund built tide mill Orsle",
    "detailed": SITUATION,
    "persona": "I've a group here: what year did Ada Lund build the tide mill of Orsle?",
    "like": "whats the year ada lund built the tide mill of orsle in pls",
}


def draft_of(question: str = QUESTION, answer: str = "1834", **changes: Any) -> Draft:
    return Draft(
        question=question,
        answer=answer,
        evolution="simple",
        contexts=(CONTEXT.chunk,),
        relevant=(("mill-0001",),),
        retrieval=Retrieval(rank=1, retrieved_id="mill-0001", retrieved_content="", score=1),
        probability=0.8,
        trail=(SEED_RECORD,),
        **changes,
    )


def restyle(
    wanted: str,
    written: str = "",
    *,
    draft: Draft | None = None,
    critic: Any = None,
    rank: int | None = 1,
    seed: int = 0,
    demos: Demos | None = None,
    **texts: Any,
) -> tuple[tuple[Draft | None, ...], Outcome, ScriptedEngine, Any]:
    engine = ScriptedEngine({"reword": written})
    critic = critic or ScriptedCritic(same)
    critics = dict.fromkeys(DECIDING, critic)
    tools = tools_of(retriever=FixedRetriever(rank), critics=critics, demos=demos or {})
    trail, seen = trail_of(Attempt(number=0, contexts=(CONTEXT,), wanted=wanted, seed=seed))
    stage = Restyle(tools, JudgeAndRewrite(tools), 5, [wanted], **texts)
    with dspy.context(lm=engine.lm, adapter=PlainTextAdapter()):
        drafts = stage(trail, draft or draft_of())
    return drafts, trail.outcome(), engine, seen


def same(name: str, inputs: dict[str, Any]) -> bool:
    return name == "same"  # the scripted critic inverts it


@pytest.mark.parametrize(("name", "wording"), WORDED.items())
def test_wording_by_the_model_keeps_answer_and_chunks(name: str, wording: str, demos: Demos) -> None:
    (worded, seed), outcome, engine, seen = restyle(name, wording, queries=QUERIES, demos=demos)
    assert worded is not None
    assert seed == draft_of()
    assert (worded.question, worded.evolution, worded.answer) == (wording, name, "1834")
    assert (worded.contexts, worded.relevant) == (seed.contexts, seed.relevant)
    assert worded.metadata["seed_question"] == QUESTION
    assert not outcome.rejects
    steps = ["reword", "same", *(["judge"] if name not in ("terse", "like") else []), name]
    assert [record.step for record in seen] == steps
    assert worded.trail == tuple(seen)
    assert worded.probability == 0.8
    shown = str(engine.requests[0].messages[-1].parts[0].text)
    assert shown.startswith(f"Topic: Tide mills > Orsle\nQuestion: {QUESTION}\nStyle: ")
    assert ("Examples: " in shown) == (name == "like")
    assert len(engine.requests[0].messages) == 2 * 3 + 1, "the English demos of the style"


@pytest.mark.parametrize("seed", range(3))
def test_persona_follows_the_seed_of_the_attempt(seed: int) -> None:
    (worded, _), _, engine, _ = restyle("persona", WORDED["persona"], seed=seed, personas=("a nurse", "a guide"))
    assert worded is not None
    assert worded.metadata["persona"] == ("a nurse", "a guide")[seed % 2]
    assert f"as {worded.metadata['persona']} would ask it" in str(engine.requests[0].messages[-1].parts[0].text)
    (worded, _), *_ = restyle("persona", WORDED["persona"], seed=seed)
    assert worded is not None
    assert worded.metadata["persona"] == PERSONAS[seed]


def test_examples_are_drawn_by_the_seed_of_the_attempt() -> None:
    def shown(seed: int) -> str:
        _, _, engine, _ = restyle("like", WORDED["like"], seed=seed, queries=[f"query {n} pls" for n in range(40)])
        return str(engine.requests[0].messages[-1].parts[0].text).rsplit("Examples: ", 1)[1]

    assert shown(1) == shown(1) != shown(2)
    assert shown(1).count("pls") == 4


@pytest.mark.parametrize(
    ("name", "wording", "reason"),
    [
        ("conversational", "", "0 words, 4 to 30 are wanted"),
        ("conversational", "in what year, did Ada Lund build the tide mill of Orsle?", "it is no other wording"),
        ("conversational", "Tell me the year Ada Lund built the tide mill of Orsle.", "it is no question"),
        ("terse", QUESTION, "it is no other wording"),
        ("terse", "what year was it that Ada Lund built the tide mill of Orsle", "13 words, 2 to 8 are wanted"),
        ("detailed", "When did Ada Lund build the tide mill of Orsle?", "10 words, 25 to 45 are wanted"),
        ("conversational", "Do you know when she built the tide mill of Orsle?", "it lost names: ada, lund"),
        ("conversational", "Did Ada Lund of Sandgate build the tide mill of Orsle?", "it has names from elsewhere"),
        ("conversational", "Did Ada Lund build the tide mill of Orsle in 1834?", "it changes numbers: 1834"),
        (
            "detailed",
            "The tide mill of Orsle is a building in a lovely valley which many visitors of the coast see from afar. "
            "In what year did Ada Lund build the tide mill of Orsle?",
            "it states what the question does not say: 'The tide mill of Orsle",
        ),
        ("like", "ada lund orsle wifi", "it lost what the question asks"),
        ("like", "when did ada lund build the tide mill of orsle overtime", "it copies words of the examples: overtim"),
    ],
)
def test_simple_checks_refuse_before_any_critic(name: str, wording: str, reason: str) -> None:
    critic = ScriptedCritic(same)
    (worded, seed), outcome, _, seen = restyle(name, wording, critic=critic, queries=QUERIES)
    assert worded is None
    assert seed == draft_of()
    assert [reject.step for reject in outcome.rejects] == [name]
    assert outcome.rejects[0].reason.startswith(reason)
    assert critic.asked == []
    assert [(record.step, record.verdict) for record in seen] == [("reword", "bad")]


def test_situation_of_a_demo_is_refused(demos: Demos) -> None:
    situation = next(demo.wording for demo in demos["reword"] if demo.style.startswith("Detailed")).split(". ")[0]
    (worded, _), outcome, *_ = restyle("detailed", f"{situation}. {QUESTION}", demos=demos)
    assert worded is None
    assert [reject.reason for reject in outcome.rejects] == ["it copies a sentence of a demo"]


def test_answer_in_the_wording_is_refused() -> None:
    draft = draft_of("For whom did the tide mill of Orsle grind?", "the garrison of Henn")
    (worded, _), outcome, *_ = restyle(
        "conversational", "Did the tide mill of Orsle grind oats for the garrison of Henn?", draft=draft
    )
    assert worded is None
    assert outcome.rejects[0].reason == "it gives its answer away: 'the garrison of Henn'"


def test_name_in_a_hyphenated_word_is_kept_and_not_new() -> None:
    draft = draft_of("Which non-Orsle mills did Ada Lund build?", "the one of Tarn")
    wording = "Do you know which non-Orsle mills are Lund-built, and by Ada?"
    (worded, _), outcome, *_ = restyle("conversational", wording, draft=draft, critic=ScriptedCritic(same))
    assert worded is not None, outcome.rejects
    wording = "Do you know which mills Ada Lund-Berg built that are not of Orsle?"
    (worded, _), outcome, *_ = restyle("conversational", wording, draft=draft, critic=ScriptedCritic(same))
    assert worded is None
    assert outcome.rejects[0].reason == "it has names from elsewhere: lund-berg"


def test_critics_refuse_another_question_and_an_unclear_one() -> None:
    (worded, _), outcome, *_ = restyle("terse", WORDED["terse"], critic=ScriptedCritic(reason="another depth"))
    assert worded is None
    assert [(reject.step, reject.reason) for reject in outcome.rejects] == [
        ("same", "it asks for something else: another depth")
    ]
    unclear = ScriptedCritic(lambda name, inputs: name in ("same", "clear"))
    (worded, _), outcome, *_ = restyle("conversational", WORDED["conversational"], critic=unclear)
    assert worded is None
    assert [(reject.step, reject.question) for reject in outcome.rejects] == [("judge", WORDED["conversational"])]
    (worded, _), *_ = restyle("terse", WORDED["terse"], critic=unclear)
    assert worded is not None, "a short query is not judged as a question"


def test_low_probability_and_low_rank_of_a_wording() -> None:
    (worded, _), *_ = restyle("persona", WORDED["persona"], critic=ScriptedCritic(same), draft=draft_of())
    assert worded is not None
    assert worded.probability == 0.8
    (worded, _), outcome, *_ = restyle("persona", WORDED["persona"], rank=6)
    assert worded is None
    assert [(reject.step, reject.reason) for reject in outcome.rejects] == [
        ("retrieval", "source chunk too far: rank 6")
    ]


@pytest.mark.parametrize("reads_all", [True, False])
def test_only_a_language_model_sees_the_situation(reads_all: bool) -> None:
    critic = ScriptedCritic(same)
    critic.is_llm_judge = reads_all  # type: ignore[attr-defined]
    (worded, _), *_ = restyle("detailed", SITUATION, critic=critic)
    assert worded is not None
    shown = SITUATION if reads_all else QUESTION
    assert [asked.get("second") or asked["question"] for asked in critic.asked] == [shown, shown]


def test_wording_by_rule_calls_no_model_and_no_critic() -> None:
    critic = ScriptedCritic()
    (worded, _), outcome, engine, seen = restyle("keywords", critic=critic)
    assert worded is not None
    assert worded.question == "what year ada lund build tide mill orsle"
    assert (engine.steps, critic.asked, outcome.rejects) == ([], [], ())
    assert [record.step for record in seen] == ["keywords"]
    (worded, _), outcome, *_ = restyle("keywords", draft=draft_of("Who was it?"))
    assert worded is None
    assert [reject.reason for reject in outcome.rejects] == ["the rule has no other wording"]


def test_other_evolutions_and_missing_drafts_are_left_as_they_are() -> None:
    drafts, *_ = restyle("simple")
    assert drafts == (draft_of(),)
    trail, _ = trail_of(Attempt(number=0, contexts=(CONTEXT,), wanted="terse"))
    assert Restyle(tools_of(), JudgeAndRewrite(tools_of()), 5, ())(trail, None) == (None,)


def test_wording_is_written_from_the_chunks_of_the_draft() -> None:
    other = context_of("town-0001", ("Sandgate lies on Henn.", "Henn"), topic="Sandgate")
    engine = ScriptedEngine({"reword": WORDED["terse"]})
    critics = dict.fromkeys(DECIDING, ScriptedCritic(same))
    tools = tools_of(critics=critics)
    trail, _ = trail_of(Attempt(number=0, contexts=(CONTEXT, other), wanted="terse"))
    draft = draft_of().model_copy(update={"contexts": (CONTEXT.chunk, other.chunk)})
    with dspy.context(lm=engine.lm, adapter=PlainTextAdapter()):
        worded, _ = Restyle(tools, JudgeAndRewrite(tools), 5, ["terse"])(trail, draft)
    assert worded is not None
    assert "Topic: Tide mills > Orsle | Sandgate\n" in str(engine.requests[0].messages[-1].parts[0].text)


def test_styles_name_what_they_need() -> None:
    styles = {name: row.style for name, row in EVOLUTIONS.items() if row.style is not None}
    assert list(styles) == ["conversational", "detailed", "like", "persona", "terse"]
    assert [name for name, style in styles.items() if style.has_persona] == ["persona"]
    assert [name for name, style in styles.items() if style.shows_examples] == ["like"]
    assert all(row.rewords == bool(row.style or row.restyle) for row in EVOLUTIONS.values())


def test_demos_are_written_in_the_styles_of_the_table(demos: Demos) -> None:
    texts = [row.style.text.split("{persona}") for row in EVOLUTIONS.values() if row.style is not None]
    for demo in demos["reword"]:
        assert any(demo.style.startswith(text[0]) and demo.style.endswith(text[-1]) for text in texts), demo.style
    names = {text[0].split(":")[0] for text in texts}
    assert len(names) == len(texts)
    for language in ("en", "de"):
        assert {demo.style.split(":")[0] for demo in demos["reword"] if demo.language == language} == names


def test_demos_of_the_style_are_shown_if_there_are_any() -> None:
    demos = [dspy.Example(style=f"{name}: text", wording=name) for name in ("One", "Two", "One")]
    assert [demo.wording for demo in in_style(demos, {"style": "One: other text"})] == ["One", "One"]
    assert in_style(demos, {"style": "Three: text"}) == demos
    assert in_style(demos, {"question": "Who?"}) == demos
