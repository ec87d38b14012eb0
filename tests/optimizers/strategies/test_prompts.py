"""All strategies that compile prompts, on a small step with a scripted model."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import dspy
import numpy as np
import pytest
from dspy.lm15 import ContextLengthError, Message, Request, Response, Usage
from dspy.utils.exceptions import LMUnexpectedError

from groundset.data_files import data_path
from groundset.runtime.adapter import PlainTextAdapter
from groundset.runtime.journal import JournaledEngine, MemoryJournal
from optimizers.ledger import Ledger
from optimizers.report import CompileReport
from optimizers.steps import COMPILABLE
from optimizers.steps.answer import metric as answer_metric
from optimizers.steps.base import Judges, kind_of
from optimizers.steps.examples import Examples
from optimizers.strategies import STRATEGIES, prompts
from optimizers.strategies.prompts import dev_rows
from optimizers.student import GeneratorStep
from programs.demos import read_demos
from programs.errors import LeakError, StrategyError
from programs.languages import LANGUAGES
from programs.languages.table import Languages

NAMES = ("Ada Lund", "Bo Kern", "Cy Dahl", "Di Moss", "Eli Rask", "Flo Berg")


def reply(text: str) -> Response:
    usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
    return Response(id=None, model="local/x", message=Message.assistant(text), finish_reason="stop", usage=usage)


class MagicWordEngine:
    """Answers with the name in the passage if the prompt contains a magic word, else "not stated"."""

    def __init__(self, magic: str, fail_at: int = 0, error: BaseException | None = None) -> None:
        self.magic, self.fail_at, self.error, self.calls = magic, fail_at, error, 0

    def complete(self, request: Request) -> Response:
        self.calls += 1
        if self.error is not None and self.calls == self.fail_at:
            raise self.error
        prompt = f"{request.system} {' '.join(message.text or '' for message in request.messages[:-1])}"
        known = [name for name in NAMES if name in (request.messages[-1].text or "")]
        return reply(known[0] if known and self.magic in prompt else "not stated")


class LowCritic:
    """Gives good rows 0.3 and bad rows 0.1, so only the threshold is wrong."""

    supports_decision_requests = True

    def __call__(self, state: dict[str, Any], questions: dict[str, Any]) -> dict[str, Any]:
        assert list(questions) == ["fit"]
        good = "?" in state["inputs"]["question"]
        return {"fit": {"noul": 0.3 if good else 0.1}}


def examples_of(rows: Callable[[str], list[dspy.Example]]) -> Examples:
    splits = {split: rows(split) for split in ("train", "dev", "test")}
    return Examples(demos=splits, inputs=splits)  # type: ignore[arg-type]


def answers(dev: int = 4) -> Examples:
    def rows(split: str) -> list[dspy.Example]:
        return [
            dspy.Example(
                id=f"{split}{n}",
                split=split,
                language="en",
                explanation="",
                topic="Mill",
                passage=f"The mill number {n} was built by {NAMES[n % len(NAMES)]} in 1931.",
                question=f"Who built mill number {n}?",
                answer=NAMES[n % len(NAMES)],
            ).with_inputs("topic", "passage", "question")
            for n in range({"train": 8, "dev": dev, "test": 5}[split])
        ]

    return examples_of(rows)


def verdicts() -> Examples:
    def rows(split: str) -> list[dspy.Example]:
        return [
            dspy.Example(
                id=f"{split}{n}", split=split, language="en", explanation="", passage="A mill.",
                question="Who built it?" if n % 2 else "Built it", fit=bool(n % 2),
            ).with_inputs("passage", "question")
            for n in range(12)
        ]  # fmt: skip

    return examples_of(rows)


def encode(texts: Any) -> np.ndarray:
    return np.array([[len(text), text.count("a")] for text in texts], dtype=np.float32)


JUDGES = Judges(
    judge=lambda passage, question: pytest.fail("called"),
    rank=lambda q, p: 1,
    answer=lambda topic, passage, question: pytest.fail("called"),
    languages=Languages(LANGUAGES),
)
DEMOS = read_demos(data_path("demos"))
Compile = Callable[..., CompileReport]


class RecordingListener:
    """Records messages only."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.say = self.messages.append

    def start(self, step: str, calls: int) -> None: ...

    def call(self) -> None: ...


def resources_of(examples: Examples, lm: Any = None, **options: Any) -> Any:
    model = SimpleNamespace(lm=lm, adapter=PlainTextAdapter(), name="x", sha256=None, usage=lambda: {"seconds": 0.0})
    fields = {"budget": 40, "seed": 0, "dev": 4, "test": 5, "teacher": None, "verbose": False, "sources": {}}
    fields |= {
        "judges": JUDGES,
        "demos": DEMOS,
        "encoder": SimpleNamespace(encode=encode),
        "listener": RecordingListener(),
    }
    fields |= {"model": model, "examples": lambda step: examples, "begin": lambda *_: None}
    return SimpleNamespace(**fields | options)


@pytest.fixture
def compile_with(monkeypatch: pytest.MonkeyPatch) -> Compile:
    monkeypatch.setattr(prompts, "LogprobCritic", lambda lm: LowCritic())

    def run(
        name: str, engine: Any, step: str = "answer", examples: Examples | None = None, **options: Any
    ) -> CompileReport:
        lm = dspy.LM("local/x", engine=JournaledEngine(engine, MemoryJournal()), cache=False, num_retries=0)
        if teacher := options.get("teacher"):
            options["teacher"] = SimpleNamespace(lm=teacher, name="large")
        resources = resources_of(examples or answers(), lm, **options)
        STRATEGIES[name].check(step, resources)
        [report] = STRATEGIES[name].compile([step], resources)
        return report

    return run


@pytest.mark.parametrize(
    ("name", "magic"),
    [
        ("labeled", "Who built mill"),
        ("random-search", "Who built mill"),
        ("knn", "Who built mill"),
        ("gepa", "usually"),
    ],
)
def test_strategy_finds_better_prompt(compile_with: Compile, name: str, magic: str) -> None:
    compiled = compile_with(name, MagicWordEngine(magic))
    assert compiled.measures["before"]["dev"].value == 0.0
    assert compiled.measures["after"]["dev"].value == 1.0
    assert compiled.measures["after"]["test"].value == 1.0
    assert compiled.measures["gain"]["test"].value == 1.0
    assert compiled.state.record["chosen"] > 0
    assert magic in compiled.prompt
    assert "{{question}}" in compiled.prompt
    shown = {key for demo in compiled.state.predictor["demos"] for key in demo}
    assert not shown & {"id", "split"}
    plain = dspy.Predict("question -> answer")
    assert plain.load_state({**compiled.state.predictor, "signature": plain.dump_state()["signature"]}).demos


def test_only_best_quarter_of_candidates_runs_on_all_dev_rows(compile_with: Compile) -> None:
    engine = MagicWordEngine("Who built mill number 3")
    compiled = compile_with("labeled", engine, examples=answers(dev=48), dev=48, budget=200)
    whole = [each for each in compiled.candidates[1:] if each["dev"] is not None]
    assert len(compiled.candidates) > 200 // 48 + 1
    assert len(whole) == len(compiled.candidates[1:]) // 4
    assert compiled.state.record["chosen"] == max(whole, key=lambda each: each["dev"])["number"]
    assert compiled.measures["after"]["dev"].value == 1.0
    assert compiled.ending == "complete"


@pytest.mark.parametrize("name", ["labeled", "random-search", "knn"])
def test_original_demos_precede_drawn_ones(compile_with: Compile, name: str) -> None:
    demos = compile_with(name, MagicWordEngine("Who built mill")).state.predictor["demos"]
    by_hand = [demo["question"] for demo in DEMOS["answer"]]
    assert [demo["question"] for demo in demos[: len(by_hand)]] == by_hand
    assert {demo["language"] for demo in demos[len(by_hand) :]} == {"en"}


def test_drawn_demo_replaces_none_of_other_language(compile_with: Compile) -> None:
    examples = answers()
    first, *others = examples.demos["train"]
    train = [first.copy(language="de", question="Wer hat Mühle Nummer 0 gebaut?"), *others]
    examples = examples._replace(demos={**examples.demos, "train": train})
    compiled = compile_with("labeled", MagicWordEngine("Who built mill"), examples=examples)
    shown = {demo["question"] for demo in compiled.state.predictor["demos"]}
    assert {demo["question"] for demo in DEMOS["answer"]} <= shown


def test_drop_replaced_demos_matches_language_and_kind() -> None:
    step = GeneratorStep(COMPILABLE["answer"].step.predictor(DEMOS["answer"]), Ledger(answer_metric, JUDGES), None)
    before = [demo["question"] for demo in step.kept]
    step.predict.demos = [answers().demos["train"][0]]
    step.candidate()
    step.drop_replaced_demos(kind_of)
    lost = set(before) - {demo["question"] for demo in step.kept}
    assert len(lost) <= 1
    assert all(question.startswith("Who") for question in lost)
    assert [demo for demo in step.kept if demo["language"] == "de"] == [
        demo for demo in DEMOS["answer"] if demo["language"] == "de"
    ]


def test_bootstrapped_demos_are_written_once(compile_with: Compile) -> None:
    engine = MagicWordEngine("Who built mill number 99")
    # No demo is good enough, so all candidates equal the original step.
    compiled = compile_with("random-search", engine, budget=80, examples=without_demos())
    assert compiled.figures["calls"] == engine.calls == 8, "the questions of dev and test repeat those of train"


def test_outputs_of_teacher_are_not_scored_as_the_step(compile_with: Compile) -> None:
    teacher = dspy.LM("local/large", engine=MagicWordEngine(""), cache=False, num_retries=0)
    compiled = compile_with("random-search", MagicWordEngine("no such word"), budget=200, teacher=teacher)
    assert compiled.measures["before"]["train"].value == 0


def without_demos() -> Examples:
    examples = answers()
    return examples._replace(demos={"train": [], "dev": [], "test": []})


def test_step_stays_unchanged_without_improvement(compile_with: Compile) -> None:
    compiled = compile_with("labeled", MagicWordEngine("no such word"))
    assert (compiled.state.record["chosen"], compiled.measures["gain"]["dev"].value) == (0, 0.0)


def test_budget_ends_search_but_not_report(compile_with: Compile) -> None:
    engine = MagicWordEngine("Who built mill")
    compiled = compile_with("random-search", engine, budget=9)
    assert compiled.ending == "budget"
    assert compiled.figures["calls"] == engine.calls <= 4 + 9 + 2 * (4 + 5)
    assert {"train", "dev", "test"} <= set(compiled.measures["after"])


def test_repeated_calls_are_not_counted(compile_with: Compile) -> None:
    engine = MagicWordEngine("usually")
    # GEPA runs the original step on 4 train rows, and a new instruction on 4 train and 4 dev rows.
    compiled = compile_with("gepa", engine, budget=12)
    assert compiled.candidates[1]["dev"] == 1.0
    assert compiled.figures["calls"] == engine.calls


@pytest.mark.parametrize(
    ("step", "budget", "rows"),
    [("answer", 1200, 300), ("answer", 600, 150), ("answer", 40, 24), ("question", 1200, 150), ("answer", 9000, 300)],
)
def test_number_of_dev_rows_depends_on_budget(step: str, budget: int, rows: int) -> None:
    for held, dev, expected in ((400, None, rows), (60, None, min(rows, 60)), (400, 7, 7)):
        examples = answers(dev=held)
        assert len(dev_rows(step, examples, resources_of(examples, budget=budget, dev=dev))) == expected


def test_detectable_gain_is_reported_before_and_after(compile_with: Compile) -> None:
    listener = RecordingListener()
    compiled = compile_with("labeled", MagicWordEngine("mill number 3"), listener=listener)
    assert "4 examples; minimum detectable gain 0.60" in listener.messages[0]
    assert compiled.figures["detectable_gain"] != 0.6, "from the observed differences"


@pytest.mark.parametrize(("name", "budget"), [("gepa", 6), ("random-search", 6), ("labeled", 3)])
def test_compared_counts_candidates_on_all_dev_rows(compile_with: Compile, name: str, budget: int) -> None:
    few = compile_with(name, MagicWordEngine("Who built mill"), budget=budget)
    assert (few.ending, few.untested, few.state.record["chosen"]) == ("budget", True, 0)
    assert len(few.candidates) > 1
    many = compile_with(name, MagicWordEngine("usually" if name == "gepa" else "Who built mill"), budget=80)
    assert many.figures["compared"] == sum(row["dev"] is not None for row in many.candidates[1:])
    assert 0 < many.figures["compared"] < len(many.candidates)


def test_gepa_stops_when_pool_is_empty(compile_with: Compile) -> None:
    compiled = compile_with("gepa", MagicWordEngine("no such word"), budget=400)
    assert compiled.ending == "complete"
    assert compiled.figures["calls"] < 100
    assert len(compiled.candidates) == 4, "the original step and the pool"


def test_interrupted_search_keeps_best_candidate(compile_with: Compile) -> None:
    engine = MagicWordEngine("Who built mill", fail_at=4 + 4 + 2, error=KeyboardInterrupt())
    compiled = compile_with("labeled", engine)
    assert compiled.ending == "interrupted"
    assert compiled.measures["after"]["dev"].value == 1.0
    assert not {"train", "test"} & set(compiled.measures["after"])


def test_interrupted_report_keeps_best_candidate(compile_with: Compile) -> None:
    whole = MagicWordEngine("Who")
    found = compile_with("labeled", whole).state.record["chosen"]
    compiled = compile_with("labeled", MagicWordEngine("Who", fail_at=whole.calls, error=KeyboardInterrupt()))
    assert (compiled.ending, compiled.state.record["chosen"]) == ("interrupted", found)
    assert compiled.measures["after"].keys() == {"dev"}


def test_too_long_prompt_scores_zero(compile_with: Compile) -> None:
    too_long = ContextLengthError("5,000 tokens do not fit into 4,096")
    compiled = compile_with("labeled", MagicWordEngine("Who built mill", fail_at=7, error=too_long))
    assert compiled.measures["after"]["dev"].value == 1.0
    assert 0.75 in [each["dev"] for each in compiled.candidates[1:]]


@pytest.mark.parametrize("fail_at", [1, 7])
@pytest.mark.parametrize("name", ["labeled", "random-search", "gepa"])
def test_failing_model_raises(compile_with: Compile, name: str, fail_at: int) -> None:
    with pytest.raises(LMUnexpectedError, match="the weights are gone"):
        compile_with(name, MagicWordEngine("Who", fail_at=fail_at, error=RuntimeError("the weights are gone")))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mipro", "[[ ## proposed_instruction ## ]]\nFind the abracadabra name.\n\n[[ ## completed ## ]]"),
        ("gepa", '{"new_instruction": "Find the abracadabra name."}'),
    ],
)
def test_teacher_writes_instructions(compile_with: Compile, name: str, text: str) -> None:
    writer = SimpleNamespace(complete=lambda request: reply(text))
    teacher = dspy.LM("local/t", engine=writer, cache=False, num_retries=0)
    compiled = compile_with(name, MagicWordEngine("abracadabra"), teacher=teacher, budget=80)
    assert compiled.measures["after"]["dev"].value == 1.0
    assert "abracadabra" in compiled.state.predictor["signature"]["instructions"]


def test_reanchor_moves_the_threshold_of_a_critic(compile_with: Compile) -> None:
    compiled = compile_with("reanchor", MagicWordEngine("-"), "judge", verdicts(), budget=40, dev=12, test=12)
    assert 0.1 < compiled.state.predictor["fields"]["fit"]["threshold"] < 0.3
    assert compiled.measures["after"]["test_auc"].value == 1.0


@pytest.mark.parametrize(
    ("name", "step", "message"),
    [
        ("reanchor", "answer", "cannot compile answer"),
        ("knn", "judge", "cannot compile judge"),
        ("gepa", "sound", "use --optimizer finetune"),
        ("labeled", "answer", "no example outputs for answer"),
    ],
)
def test_unsupported_steps_and_missing_demos_are_rejected(
    compile_with: Compile, name: str, step: str, message: str
) -> None:
    with pytest.raises(StrategyError, match=message):
        compile_with(name, MagicWordEngine("-"), step, without_demos())


def test_bootstrap_uses_all_rows_if_few_have_outputs(compile_with: Compile) -> None:
    few = answers()
    examples = few._replace(demos={**few.demos, "train": few.demos["train"][:2]})
    compiled = compile_with("random-search", MagicWordEngine("Who built mill"), examples=examples)
    assert compiled.measures["after"]["dev"].value == 0.0
    assert compile_with("random-search", MagicWordEngine("Who built mill")).measures["after"]["dev"].value == 1.0


@pytest.mark.parametrize("place", ["demos", "inputs"])
def test_test_row_in_training_set_raises(compile_with: Compile, place: str) -> None:
    examples = answers()
    leaked = {**getattr(examples, place), "train": getattr(examples, place)["test"][:1]}
    with pytest.raises(LeakError, match="test0"):
        compile_with("labeled", MagicWordEngine("-"), examples=examples._replace(**{place: leaked}))
