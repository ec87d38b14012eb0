"""The steps of the recipe ``profiled``: examples from shipped gold rows, and metrics on outputs with known scores."""

from types import SimpleNamespace

import dspy
import pytest

from groundset.data_files import data_path
from optimizers.gold import GoldRow, read_gold
from optimizers.labels import ChunkLabel, read_labels
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Judges
from optimizers.steps.examples import Examples, examples_of, source_of
from programs.deciding import Decision
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.profiles import ProfileTable
from programs.steps import STEPS
from signatures.clues import Clue

NAMES = ("clues", "relevance", "distil", "profiles", "ask_profiled", "fits")
PASSAGES = ["The Orrin 5 pump must never run dry: its seal is ruined within seconds.", "A new seal costs 34 crowns."]
VALUES = {"short": {"description": "a few words"}, "open": {"description": "a sentence"}}
TABLE = ProfileTable.model_validate({"parameters": {"Form": {"description": "the form", "values": VALUES}}})


def judges(probability: float = 0.8, rank: int | None = 1) -> Judges:
    probabilities = {"fit": probability, "independent": 0.9, "clear": probability, "answerable": 0.9}
    values = {name: value >= 0.5 for name, value in probabilities.items()}
    decision = Decision(values=values, probabilities=probabilities, levels={})
    return Judges(lambda *_: decision, lambda *_: rank, lambda *_: "", Languages(LANGUAGES))


def example(**fields: object) -> dspy.Example:
    return dspy.Example(passage="\n\n".join(PASSAGES), each=PASSAGES, language="en", **fields)


@pytest.fixture(scope="module")
def found() -> dict[str, Examples]:
    chunks = [data_path("gold", "chunks.jsonl")]
    texts = {label.id: label.text for label in read_labels(ChunkLabel, chunks)}
    gold = read_gold(GoldRow, [data_path("gold", f"{name}.jsonl") for name in NAMES])
    source = source_of([], [], gold, texts, Languages(LANGUAGES))
    return {name: examples_of(COMPILABLE[name], source) for name in NAMES}


def test_examples_have_the_fields_of_their_step(found: dict[str, Examples]) -> None:
    for name, examples in found.items():
        fields = STEPS[name].signature.fields
        for split in ("train", "dev", "test"):
            assert examples.inputs[split]
            for row in examples.demos[split]:
                assert set(row.inputs().keys()) == set(STEPS[name].signature.input_fields), name
                assert all(field in row for field in fields), name
                assert row.split == split


def test_decisions_are_balanced_and_explained(found: dict[str, Examples]) -> None:
    for name, output in (("relevance", "relevant"), ("fits", "fits")):
        rows = found[name].inputs["train"]
        assert sum(row[output] for row in rows) * 2 == len(rows) >= 20
        assert all(row.explanation for row in rows if not row.fit)


def test_gold_outputs_score_best(found: dict[str, Examples]) -> None:
    for name in ("clues", "distil", "profiles", "ask_profiled"):
        for row in found[name].demos["train"]:
            clues = [Clue(**clue) for clue in row.get("clues", ())]
            output = SimpleNamespace(**{**row.toDict(), "clues": clues})
            scored = COMPILABLE[name].metric(row, output, judges(1.0))
            assert (scored.value, scored.feedback) == (1.0, ""), row.id


@pytest.mark.parametrize(
    ("clues", "rank", "value", "feedback_part"),
    [
        (["What ruins the seal of the Orrin 5 pump?", "What does a seal of the Orrin 5 cost?"], 1, 1.0, ""),
        (["What ruins the seal of the Orrin 5 pump?", "What does a seal of the Orrin 5 cost?"], 2, 0.5, ""),
        (["What ruins the seal of the Orrin 5 pump?"], 1, 0.5, "1 of 2 clues"),
        (["What ruins the seal of the Orrin 5 pump?"], None, 0.0, "does not find its passage"),
        (["What does it cost?"], 1, 0.0, "does not name its subject"),
        (["The seal of the Orrin 5"], 1, 0.0, "is not one question"),
        ([], 1, 0.0, "0 of 2 clues"),
    ],
)
def test_clues_metric(clues: list[str], rank: int | None, value: float, feedback_part: str) -> None:
    written = [Clue(clue=clue, example="It is dear.") for clue in clues]
    scored = COMPILABLE["clues"].metric(example(count="2"), SimpleNamespace(clues=written), judges(rank=rank))
    assert scored.value == value
    assert feedback_part in scored.feedback


def test_clue_needs_an_example() -> None:
    written = SimpleNamespace(clues=[Clue(clue="What ruins the seal of the Orrin 5 pump?")])
    scored = COMPILABLE["clues"].metric(example(count="1"), written, judges())
    assert (scored.value, "no example" in scored.feedback) == (0.0, True)


@pytest.mark.parametrize(
    ("needed", "missing", "value", "feedback"),
    [
        ("1, 2", "nothing", 1.0, ""),
        ("1", "nothing", (2 / 3 + 1) / 2, "Needed, too: 2."),
        ("1, 2, 3", "nothing", 0.9, "Not needed: 3."),
        ("1, 2", "the price", 0.5, "Nothing is missing."),
        ("none", "the price", 0.0, "Needed, too: 1, 2. Nothing is missing."),
    ],
)
def test_distil_metric(needed: str, missing: str, value: float, feedback: str) -> None:
    row = example(numbers=[1, 2], count=3, missing="nothing")
    scored = COMPILABLE["distil"].metric(row, SimpleNamespace(needed=needed, missing=missing), judges())
    assert (scored.value, scored.feedback) == (pytest.approx(value), feedback)


def test_distil_metric_without_needed_passages() -> None:
    row = example(numbers=[], count=2, missing="the depth")
    metric = COMPILABLE["distil"].metric
    assert metric(row, SimpleNamespace(needed="none", missing="the depth of the well"), judges()).value == 1
    scored = metric(row, SimpleNamespace(needed="none", missing="nothing"), judges())
    assert (scored.value, scored.feedback) == (0.5, "The passages do not say the depth.")


@pytest.mark.parametrize(
    ("text", "value", "feedback_part"),
    [
        ("Form: open\nForm: short", 1.0, ""),
        ("Form: short", 0.5, "suit also Form: open"),
        ("short\nopen", 0.0, "0 of 2 lines hold a whole profile"),
    ],
)
def test_profiles_metric(text: str, value: float, feedback_part: str) -> None:
    row = example(table=TABLE, wanted=({"Form": "short"}, {"Form": "open"}))
    scored = COMPILABLE["profiles"].metric(row, SimpleNamespace(profiles=text), judges())
    assert scored.value == value
    assert feedback_part in scored.feedback


@pytest.mark.parametrize(
    ("change", "probability", "value", "feedback_part"),
    [
        ({}, 0.8, 0.9, ""),
        ({}, 0.4, 0.1, "not clear"),
        ({"question": "none"}, 0.8, 0.0, "No question"),
        ({"answer": ""}, 0.8, 0.0, "No question"),
        ({"evidence": "It is blue."}, 0.8, 0.0, "evidence"),
        ({"evidence": ""}, 0.8, 0.0, "evidence"),
        ({"evidence": "its seal is ruined | A new seal costs 34 crowns."}, 0.8, 0.9, ""),
        ({"options": "none"}, 0.8, 0.0, "It has no options"),
        ({"options": "12 crowns | 30 crowns | 50 crowns"}, 0.8, 0.0, "the answer is not among the options"),
    ],
)
def test_ask_profiled_metric(change: dict[str, str], probability: float, value: float, feedback_part: str) -> None:
    written = {
        "question": "What does a new seal for the Orrin 5 cost?",
        "options": "12 crowns | 34 crowns | 50 crowns",
        "answer": "34 crowns",
        "evidence": "A new seal costs 34 crowns.",
    }
    row = example(options=written["options"])
    scored = COMPILABLE["ask_profiled"].metric(row, SimpleNamespace(**{**written, **change}), judges(probability))
    assert scored.value == pytest.approx(value)
    assert feedback_part in scored.feedback


def test_unwanted_options_score_zero() -> None:
    written = SimpleNamespace(question="What?", options="a | b | c", answer="a", evidence="its seal is ruined")
    scored = COMPILABLE["ask_profiled"].metric(example(options="none"), written, judges())
    assert (scored.value, scored.feedback) == (0.0, "It has options though the profile wants none.")
