"""Training turns from gold rows: the chats equal those of a run."""

from types import SimpleNamespace
from typing import Any

import dspy
import pytest

from groundset.runtime.adapter import PlainTextAdapter
from optimizers.finetuning.base import turns_of
from optimizers.gold import GoldRow
from optimizers.labels import Label, QuestionLabel
from optimizers.steps import COMPILABLE
from optimizers.steps.answer import AnswerGold
from optimizers.steps.compress import CompressGold
from optimizers.steps.keyphrases import KeyphrasesGold
from optimizers.steps.question import QuestionGold
from optimizers.steps.rewrite import RewriteGold
from programs.critics.logprobs import LogprobCritic
from programs.deciding import decide
from programs.languages import LANGUAGES
from programs.languages.table import Languages

FACT = "Because the sluice had rotted, the tide mill of Orsle stood still in 1712."
PLACE: dict[str, Any] = {
    "document": "tide-mill", "chunk": "tide-mill-01", "language": "en", "split": "train",
    "topic": "Orsle > Orsle > Mills",
}  # fmt: skip


def gold(row: Any, step: str, **fields: Any) -> Any:
    place = {name: value for name, value in PLACE.items() if name in row.model_fields}
    return row(**place, step=step, id=f"tide-mill-{step}-1", **fields)


ANSWER, QUESTION, VAGUE_QUESTION = (
    "the sluice had rotted",
    "Why did the tide mill of Orsle stand still in 1712?",
    "Why did it stop?",
)
GOOD = gold(
    QuestionGold,
    "question",
    before="The mill was built in 1631. It ground barley.",
    fact=FACT,
    answer=ANSWER,
    question=QUESTION,
    kind="why",
)
FAR = GOOD.model_copy(update={"id": "far", "question": "Which calamity befell Zeeland's grain industry?"})
YES_NO = GOOD.model_copy(update={"id": "yes-no", "kind": "yes_no", "reply": "Yes."})
TWIN = QuestionLabel(
    **PLACE,
    id=f"{GOOD.id}-twin",
    passage=FACT,
    question=VAGUE_QUESTION,
    label="bad",
    reason="vague",
    explanation="No mill.",
)
ANSWERED = gold(AnswerGold, "answer", passage=FACT, question=QUESTION, answer=ANSWER, kind="words")
REWRITTEN = gold(
    RewriteGold,
    "rewrite",
    before="",
    fact=FACT,
    answer=ANSWER,
    question=VAGUE_QUESTION,
    feedback="Name the mill.",
    better_question=QUESTION,
    kind="vague",
)
LONG = "What was the reason for which the tide mill of Orsle stood still in the year 1712?"
SHORTENED = gold(CompressGold, "compress", question=LONG, short_question=QUESTION)
PHRASES = gold(KeyphrasesGold, "keyphrases", passage=FACT, keyphrases=(ANSWER, "the tide mill of Orsle", "1712"))


@pytest.fixture
def languages() -> Languages:
    return Languages(LANGUAGES)


def turns_for(step: str, *rows: Label | GoldRow, languages: Languages, seed: int = 0) -> list[Any]:
    finetuning = COMPILABLE[step].finetuning
    assert finetuning is not None
    return turns_of(step, finetuning.rows(rows), "train", PlainTextAdapter(), languages, seed)


def test_turn_of_pair(languages: Languages) -> None:
    [turn] = turns_for("pair", GOOD, FAR, YES_NO, ANSWERED, TWIN, languages=languages)
    prompt = turn.messages[-1]["content"].split("\n")
    assert prompt[:3] == ["Topic: Orsle > Mills", f"Before: {GOOD.before}", f"Fact: {FACT}"]
    assert turn.completion == f"Answer: {GOOD.answer}\nQuestion: {GOOD.question}"
    assert (turn.language, turn.document, turn.name) == ("en", "tide-mill", GOOD.id)


def test_half_of_pair_turns_name_the_kind(languages: Languages) -> None:
    rows = [GOOD.model_copy(update={"id": f"row-{number}"}) for number in range(200)]
    turns = turns_for("pair", *rows, languages=languages)
    kinds = ["Kind: why" in turn.messages[-1]["content"] for turn in turns]
    assert 70 < sum(kinds) < 130
    assert turns == turns_for("pair", *rows, languages=languages)
    assert turns != turns_for("pair", *rows, languages=languages, seed=1)


def test_turn_of_answer(languages: Languages) -> None:
    [turn] = turns_for("answer", ANSWERED, GOOD, languages=languages)
    assert turn.messages[-1]["content"] == f"Topic: Orsle > Mills\nPassage: {FACT}\nQuestion: {GOOD.question}"
    assert turn.completion == GOOD.answer


@pytest.mark.parametrize(
    ("row", "inputs", "written"),
    [
        (REWRITTEN, ("Topic: Orsle > Mills", FACT, TWIN.question, "Name the mill."), GOOD.question),
        (SHORTENED, (SHORTENED.question,), GOOD.question),
        (PHRASES, ("Topic: Orsle > Mills", FACT), "the sluice had rotted; the tide mill of Orsle; 1712"),
    ],
)
def test_turns_of_other_steps(row: GoldRow, inputs: tuple[str, ...], written: str, languages: Languages) -> None:
    [turn] = turns_for(row.step, GOOD, ANSWERED, TWIN, row, languages=languages)
    prompt = turn.messages[-1]["content"]
    assert all(text in prompt for text in inputs)
    assert written not in prompt
    assert turn.completion == written


def test_turns_of_sound_include_corrupted_twins(languages: Languages) -> None:
    turns = turns_for("sound", GOOD, TWIN, FAR, YES_NO, languages=languages)
    assert [(turn.name, turn.completion) for turn in turns] == [(GOOD.id, "yes"), (TWIN.id, "no")]


@pytest.mark.parametrize("question", [GOOD.question, TWIN.question])
def test_turn_of_sound_equals_critic_request(question: str, languages: Languages) -> None:
    turn = next(each for each in turns_for("sound", GOOD, TWIN, languages=languages) if question in str(each.messages))
    requests: list[Any] = []

    class RecordingModel:
        model = "local/x"

        def __call__(self, request: Any) -> Any:
            requests.append(request)
            return SimpleNamespace(logprobs=())

    compiling = COMPILABLE["sound"]
    assert compiling.finetuning is not None
    signature = compiling.step.signature.with_instructions(compiling.finetuning.instructions)
    inputs = {"topic": "Orsle > Mills", "before": GOOD.before, "fact": FACT, "question": question}
    decide(dspy.Predict(signature), LogprobCritic(RecordingModel(), "weights"), **inputs, answer=GOOD.answer)
    [request] = requests
    messages = [{"role": message.role, "content": message.text} for message in request.messages]
    assert [{"role": "system", "content": request.system}, *messages] == turn.messages
    assert request.config.extensions == {"adapter": "weights"}
