"""Metrics of steps on outputs with known scores."""

from collections.abc import Iterable
from types import SimpleNamespace

import dspy
import pytest

from optimizers.steps import COMPILABLE
from optimizers.steps.base import Judges
from programs.deciding import Decision
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.types import Focus

PASSAGE = "The Lowen harbour bridge was opened in 1931 after nine years of work led by the engineer Maria Kolb."


class NoParser:
    """Supports English, but must not be called."""

    def __call__(self, sentence: str, language: str) -> None:
        pytest.fail("parsed")

    def read_ahead(self, sentences: Iterable[str], language: str) -> None:
        pytest.fail("parsed")

    def reads(self, language: str) -> bool:
        return language == "en"


def judges(probability: float = 0.8, rank: int | None = 1, weakest: str = "clear", found: str = "Maria Kolb") -> Judges:
    probabilities = {"fit": probability, "independent": 0.9, "clear": 0.9, "answerable": 0.9, weakest: probability}
    decision = Decision(
        values={name: value >= 0.5 for name, value in probabilities.items()}, probabilities=probabilities, levels={}
    )
    return Judges(
        judge=lambda passage, question: decision,
        rank=lambda question, passage: rank,
        answer=lambda topic, passage, question: found,
        languages=Languages(LANGUAGES, NoParser()),
    )


def example(**fields: object) -> dspy.Example:
    return dspy.Example(topic="Bridge", passage=PASSAGE, language="en", explanation="", **fields)


def about_kolb(**fields: object) -> dspy.Example:
    return example(answer="Maria Kolb", focus=Focus(sentence=PASSAGE, answer="Maria Kolb"), **fields)


@pytest.mark.parametrize(
    ("phrases", "value", "feedback_part"),
    [
        (["1931", "nine years", "Maria Kolb"], 1.0, ""),
        (["1931", "nine years", "Maria Kolb", "Anselm Greve"], 0.75, "Anselm Greve"),
        (["1931", "1931", "Maria Kolb"], 2 / 3 * 2 / 3, "twice"),
        (["1931"], 1 / 3, "names 1 phrases"),
        (["the", "was", "in"], 0.0, "No name"),
        (["opened", "work", "engineer"], 1.5 / 3 * 0.5, ""),
        (["Maria Kolb", "Maria", "Kolb"], 1 / 3 * 1 / 3, "twice"),
        ([PASSAGE, PASSAGE[4:], PASSAGE[10:]], 0.0, "No name"),
        (["ope", "idge", "kol"], 0.0, "word for word"),
        ([], 0.0, "no phrase"),
    ],
)
def test_keyphrases_metric(phrases: list[str], value: float, feedback_part: str) -> None:
    scored = COMPILABLE["keyphrases"].metric(example(), SimpleNamespace(keyphrases=phrases), judges())
    assert scored.value == pytest.approx(value)
    assert feedback_part in scored.feedback


@pytest.mark.parametrize(
    ("question", "rank", "value", "feedback_part"),
    [
        ("Which engineer led the work on the Lowen harbour bridge?", 1, 0.9, ""),
        ("Which engineer led the work on the Lowen harbour bridge?", 5, 0.9, "number 5"),
        ("Which engineer led the work on the Lowen harbour bridge?", 6, 0.0, "number 6"),
        ("Which engineer led the work on the Lowen harbour bridge?", None, 0.0, "not among the first"),
        ("What did Maria Kolb lead?", 1, 0.0, "gives its answer away"),
        ("In which year was the Lowen harbour bridge opened?", 1, 0.0, "another kind of thing"),
        ("The engineer of the bridge", 1, 0.0, "is no question"),
        ("", 1, 0.0, "wrote nothing"),
    ],
)
def test_question_metric(question: str, rank: int | None, value: float, feedback_part: str) -> None:
    scored = COMPILABLE["question"].metric(about_kolb(), SimpleNamespace(question=question), judges(0.8, rank))
    assert scored.value == pytest.approx(value)
    assert feedback_part in scored.feedback


@pytest.mark.parametrize(("found", "value"), [("the engineer Maria Kolb", 0.9), ("1931", 0.2), ("not stated", 0.2)])
def test_question_metric_checks_model_answer(found: str, value: float) -> None:
    output = SimpleNamespace(question="Which engineer led the work on the Lowen harbour bridge?")
    scored = COMPILABLE["question"].metric(about_kolb(), output, judges(found=found))
    assert scored.value == pytest.approx(value)
    assert (f"the model answers {found!r}, where 'Maria Kolb' was meant" in scored.feedback) is (value < 0.5)


@pytest.mark.parametrize(
    ("answer", "question", "value", "feedback_part"),
    [
        ("Maria Kolb", "Which engineer led the work on the Lowen harbour bridge?", 0.9, ""),
        ("the best engineer", "Who led the work on the Lowen harbour bridge?", 0.0, "is not copied from the fact"),
        ("", "Who led the work on the Lowen harbour bridge?", 0.0, "is not copied from the fact"),
        (PASSAGE, f"What is feedback_part: {PASSAGE[:-1]}?", 0.0, "gives its answer away"),
        ("1931", "Who led the work on the Lowen harbour bridge?", 0.0, "another kind of thing"),
        ("Maria Kolb", "Which engineer is Maria Kolb of the Lowen harbour bridge?", 0.0, "gives its answer away"),
    ],
)
def test_pair_metric(answer: str, question: str, value: float, feedback_part: str) -> None:
    # The answer of the row does not matter: the step chooses its own.
    row = example(fact=PASSAGE, answer="nine years", focus=Focus(sentence=PASSAGE, answer="nine years"))
    output = SimpleNamespace(answer=answer, question=question)
    scored = COMPILABLE["pair"].metric(row, output, judges())
    assert scored.value == pytest.approx(value)
    assert feedback_part in scored.feedback


def test_rejected_question_scores_less_than_half_of_accepted() -> None:
    output = SimpleNamespace(question="Which engineer led the work on the Lowen harbour bridge?")
    metric = COMPILABLE["question"].metric
    sure_of_another = metric(about_kolb(), output, judges(1.0, found="1931")).value
    just_accepted = metric(about_kolb(), output, judges(0.5)).value
    assert sure_of_another < just_accepted / 2


def test_question_metric_applies_corrections_of_a_run() -> None:
    opening = "Who led the work on the Lowen harbour bridge"
    focus = Focus(sentence=PASSAGE, answer="Maria Kolb", opening=opening, easy=True)
    output = SimpleNamespace(question=f"{opening} with Maria Kolb?")
    scored = COMPILABLE["question"].metric(example(answer="Maria Kolb", focus=focus), output, judges())
    assert scored.value == pytest.approx(0.9)


def test_definition_may_be_answered_with_the_name() -> None:
    answer = "a bridge"
    focus = Focus(sentence=PASSAGE, answer=answer, defines=True)
    output = SimpleNamespace(question="What is the Lowen harbour bridge?")
    for defines, value in ((True, 0.9), (False, 0.2)):
        row = example(answer=answer, focus=focus.model_copy(update={"defines": defines}))
        found = judges(found="Lowen harbour")
        assert COMPILABLE["question"].metric(row, output, found).value == pytest.approx(value)


def test_model_is_not_called_for_rejected_questions() -> None:
    silent = judges()._replace(answer=lambda *_: pytest.fail("called"))
    for question in ("The engineer", "What did Maria Kolb lead?", "In which year was the Lowen harbour bridge opened?"):
        assert COMPILABLE["question"].metric(about_kolb(), SimpleNamespace(question=question), silent).value == 0
    refused = silent._replace(judge=judges(0.4).judge)
    output = SimpleNamespace(question="Which engineer led the work on the Lowen harbour bridge?")
    assert COMPILABLE["question"].metric(about_kolb(), output, refused).value == pytest.approx(0.1)


def test_feedback_names_offending_words() -> None:
    output = SimpleNamespace(question="Who is mentioned in the passage?")
    scored = COMPILABLE["question"].metric(about_kolb(), output, judges(0.1, weakest="independent"))
    assert scored.value == pytest.approx(0.025)
    assert "'is mentioned'" in scored.feedback
    assert "name the subject" in scored.feedback


def test_rewrite_metric_requires_a_change() -> None:
    row = about_kolb(question="Who led it?")
    assert COMPILABLE["rewrite"].metric(row, SimpleNamespace(better_question="Who led it?"), judges()).value == 0
    better = SimpleNamespace(better_question="Who led the work on the Lowen harbour bridge?")
    assert COMPILABLE["rewrite"].metric(row, better, judges()).value == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("written", "value", "feedback_part"),
    [
        ("After nine years of work, who opened the Lowen harbour bridge?", 0.9, ""),
        ("Who opened the Lowen harbour bridge?", 0.0, "words of the condition"),
        ("After nine years of work, who was it?", 0.0, "words of the question"),
    ],
)
def test_conditional_metric(written: str, value: float, feedback_part: str) -> None:
    row = example(condition="after nine years of work", question="Who opened the Lowen harbour bridge?")
    scored = COMPILABLE["conditional"].metric(row, SimpleNamespace(conditional_question=written), judges())
    assert scored.value == pytest.approx(value)
    assert feedback_part in scored.feedback


@pytest.mark.parametrize(
    ("written", "value", "feedback_part"),
    [
        ("Which engineer built the Lowen harbour bridge?", 0.9, ""),
        ("Which engineer was it that built and opened the Lowen harbour bridge?", 0.0, "no shorter"),
        ("Who did?", 0.0, "lost what"),
    ],
)
def test_compress_metric(written: str, value: float, feedback_part: str) -> None:
    row = example(question="Which engineer was it that built the Lowen harbour bridge?")
    scored = COMPILABLE["compress"].metric(row, SimpleNamespace(short_question=written), judges())
    assert scored.value == pytest.approx(value)
    assert feedback_part in scored.feedback


@pytest.mark.parametrize(
    ("kind", "written", "rank", "value", "feedback_part"),
    [
        ("terse", "engineer opened Lowen harbour bridge", 1, 1.0, ""),
        ("terse", "engineer opened Lowen harbour bridge", 4, 0.25, "as number 4"),
        ("terse", "engineer opened Lowen harbour bridge", None, 0.0, "not among the first"),
        ("terse", "engineer opened harbour bridge", 1, 0.0, "It lost names: lowen"),
        ("conversational", "Do you know which engineer opened the Lowen harbour bridge?", 1, 0.9, ""),
        ("conversational", "engineer who opened the Lowen harbour bridge", 1, 0.0, "It is no question"),
    ],
)
def test_reword_metric(kind: str, written: str, rank: int | None, value: float, feedback_part: str) -> None:
    question = "Which engineer opened the Lowen harbour bridge?"
    row = example(question=question, answer="Maria Kolb", kind=kind, persona="")
    scored = COMPILABLE["reword"].metric(row, SimpleNamespace(wording=written), judges(rank=rank))
    assert scored.value == pytest.approx(value)
    assert feedback_part in scored.feedback


@pytest.mark.parametrize(("kind", "value"), [("bridge", 1.0), ("ferry", 0.0), ("Lowen 1931!", 0.0), ("", 0.0)])
def test_reasoning_metric(kind: str, value: float) -> None:
    row = example(name="Lowen harbour bridge", fact=PASSAGE)
    assert COMPILABLE["reasoning"].metric(row, SimpleNamespace(kind=kind), judges()).value == value


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("Maria Kolb", "engineer", 1.0),
        ("Maria Kolb", "work", 0.5),
        ("Maria Kolb", "year", 0.5),
        ("Maria Kolb", "ferry", 0.25),
        ("Lowen Link", "stone bridge", 1.0),
        ("Lowen Link", "ferry", 0.5),
        ("Lowen Link", "engineer", 0.25),
        ("Lowen Link", "dragon", 0.0),
    ],
)
def test_reasoning_metric_depends_on_relation_to_name(name: str, kind: str, value: float) -> None:
    link = "The Lowen Link was the third bridge and replaced a ferry."
    row = example(name=name, fact=link if "Link" in name else PASSAGE)
    row.passage = f"{PASSAGE} {link}"
    assert COMPILABLE["reasoning"].metric(row, SimpleNamespace(kind=kind), judges()).value == value


@pytest.mark.parametrize(
    ("label", "found", "value"),
    [
        ("Maria Kolb", "Maria Kolb", 1.0),
        ("Maria Kolb", "Kolb", 2 / 3),
        ("Maria Kolb", "Maria Lund", 0.25),
        ("Maria Kolb", "not stated", 0.0),
        ("not stated", "not stated", 1.0),
        ("not stated", "1931", 0.0),
    ],
)
def test_answer_metric(label: str, found: str, value: float) -> None:
    scored = COMPILABLE["answer"].metric(
        example(question="Who?", answer=label), SimpleNamespace(answer=found), judges()
    )
    assert scored.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("label", "verdict", "value"),
    [(True, True, 0.955), (True, False, 0.455), (False, True, 0.255), (False, False, 0.755)],
)
def test_decision_metric(label: bool, verdict: bool, value: float) -> None:
    row = dspy.Example(fit=label, explanation="Names its subject.")
    scored = COMPILABLE["judge"].metric(row, SimpleNamespace(fit=verdict, probability=0.7), judges())
    assert scored.value == pytest.approx(value)
    assert ("Names its subject." in scored.feedback) is (label is not verdict)


def test_decision_metric_is_proper() -> None:
    def expected(probability: float) -> float:
        metric = COMPILABLE["judge"].metric
        output = SimpleNamespace(fit=True, probability=probability)
        values = [metric(dspy.Example(fit=good, explanation=""), output, judges()).value for good in (True, False)]
        return 0.6 * values[0] + 0.4 * values[1]

    # 60 % of rows are good.
    assert expected(0.6) > max(expected(1.0), expected(0.9), expected(0.5))


@pytest.mark.parametrize(
    ("written", "value", "feedback"),
    [
        (["1. Why was the mill of Orsle sold?", "2. Who bought the mill of Orsle?"], 1.0, ""),
        (["Who bought the mill of Orsle? Why was the mill of Orsle sold?"], 1.0, ""),
        (["Who bought the mill of Orsle?"], 0.5, "It wrote 1 questions where 2 things are asked"),
        (["Who bought the mill of Orsle?", "Why was the mill of Orsle sold?", "When?"], 0.667, "It wrote 3 questions"),
        ([], 0.0, "No question of its own asks 'Why was the mill of Orsle sold?'"),
    ],
)
def test_split_metric(written: list[str], value: float, feedback: str) -> None:
    example = dspy.Example(questions=["Why was the mill of Orsle sold?", "Who bought the mill of Orsle?"])
    scored = COMPILABLE["split"].metric(example, SimpleNamespace(questions=written), judges())
    assert scored.value == pytest.approx(value, abs=0.01)
    assert feedback in scored.feedback
    assert bool(scored.feedback) == bool(feedback)


@pytest.mark.parametrize(
    ("phrase", "value", "feedback_part"),
    [
        ("the engineer under whom the Lowen harbour bridge was built", 1.0, ""),
        ("the engineer of the Lowen harbour bridge", 0.9, ""),
        ("the famous Norwegian painter", 0.1, "does not speak of famous, norwegian, painter"),
        ("the engineer Kolb", 0.0, "a word of the name: kolb"),
        ("", 0.0, "wrote nothing"),
        ("It is a bridge. She built it.", 0.0, "no phrase"),
    ],
)
def test_describe_metric(phrase: str, value: float, feedback_part: str) -> None:
    fact = "The Lowen harbour bridge was built under the engineer Maria Kolb."
    gold = "the engineer under whom the Lowen harbour bridge was built"
    row = example(fact=fact, name="Maria Kolb", phrase=gold)
    scored = COMPILABLE["describe"].metric(row, SimpleNamespace(phrase=phrase), judges())
    assert scored.value == pytest.approx(value, abs=0.1)
    assert feedback_part in scored.feedback


@pytest.mark.parametrize(
    ("advice", "value", "feedback_part"),
    [
        ("Name the caterpillars of the sable moth instead of saying they.", 1.0, ""),
        ("Say which caterpillars of the sable moth.", 0.8, ""),
        ("Be clearer about it.", 0.0, "what to name: caterpillars, sable, moth"),
        ("What do the caterpillars of the sable moth feed on?", 0.0, "no short sentence"),
        ("", 0.0, "wrote nothing"),
    ],
)
def test_feedback_metric(advice: str, value: float, feedback_part: str) -> None:
    row = example(
        question="What do they feed on?",
        better_question="What do the caterpillars of the sable moth feed on?",
        feedback="Name the caterpillars of the sable moth instead of saying they.",
    )
    scored = COMPILABLE["feedback"].metric(row, SimpleNamespace(feedback=advice), judges())
    assert scored.value == pytest.approx(value, abs=0.1)
    assert feedback_part in scored.feedback


@pytest.mark.parametrize(
    ("question", "probability", "value", "feedback_part"),
    [
        ("Which was finished earlier, the Grey Mill or the water tower of Ebbing?", 0.8, 0.9, ""),
        ("Which was finished earlier, the Grey Mill or the water tower of Ebbing?", 0.2, 0.05, "not clear"),
        ("When was the Grey Mill built?", 0.8, 0.2, "names nothing of fact 2"),
        ("The Grey Mill", 0.8, 0.0, "is no question"),
    ],
)
def test_multi_context_metric(question: str, probability: float, value: float, feedback_part: str) -> None:
    facts = ["The Grey Mill was opened in 1822.", "The water tower of Ebbing was finished in 1907."]
    row = example(facts=facts, answer="the Grey Mill")
    row.topic = "Grey Mill | Water tower of Ebbing"
    output = SimpleNamespace(question=question)
    scored = COMPILABLE["multi_context"].metric(row, output, judges(probability, weakest="clear"))
    assert scored.value == pytest.approx(value)
    assert feedback_part in scored.feedback


@pytest.mark.parametrize(
    ("translation", "value", "feedback_part"),
    [
        ("Wer leitete die Arbeiten von 1931?\nMaria Kolb", 1.0, ""),
        ("Wer hat 1931 die Arbeiten geleitet?\nMaria Kolb", 0.75, ""),
        ("Und der, die und das ist von 1931 oder ein?\nund die der das", 0.27, "A good translation is: Wer leitete"),
        ("Wer leitete die Arbeiten von 1913?\nMaria Kolb", 0.0, "lost 1931"),
        ("Wer leitete die Arbeiten von 1931?", 0.0, "1 lines instead of 2"),
        ("Who led the work of 1931?\nMaria Kolb", 0.0, "not in German"),
        ("", 0.0, "0 lines"),
    ],
)
def test_translate_metric(translation: str, value: float, feedback_part: str) -> None:
    gold = "Wer leitete die Arbeiten von 1931?\nMaria Kolb"
    row = example(text="Who led the work of 1931?\nMaria Kolb", into="German", translation=gold)
    scored = COMPILABLE["translate"].metric(row.copy(language="de"), SimpleNamespace(translation=translation), judges())
    assert scored.value == pytest.approx(value, abs=0.01)
    assert feedback_part in scored.feedback
    assert bool(feedback_part) == bool(scored.feedback)
