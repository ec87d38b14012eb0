"""A whole recipe as a DSPy module, and under DSPy's optimizers."""

import json
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, Usage
from scripted_program import (
    GOOD,
    TEXT,
    ScriptedCritic,
    ScriptedEngine,
    attempt_on,
    chunk_of,
    languages_with,
    make_attempt,
    reasons,
    tools_of,
)

from groundset.runtime.adapter import PlainTextAdapter
from optimizers.attempts import attempt_examples, attempt_metric
from optimizers.labels import ChunkLabel
from optimizers.whole_recipe import WholeRecipe
from programs.recipes import RECIPES
from programs.steps import STEPS

MAGIC = "Name the date in full."
DEMO = {"topic": "Bridges", "fact": "It was built in 1931.", "answer": "1931", "opening": "", "question": "When?"}
LEARNED = {**DEMO, "topic": "The lighthouse on the hill", "question": "Why?"}
DEMOS = {"question": [dspy.Example(**DEMO, language=language) for language in ("en", "de")]}


class MagicWordEngine(ScriptedEngine):
    """Writes a good question if the prompt contains a magic word or the seed is odd, else a rejected one."""

    def __init__(self, magic: str = MAGIC) -> None:
        super().__init__({})
        self._magic = magic

    def complete(self, request: Request) -> Response:
        shown = " ".join(message.text or "" for message in request.messages[:-1])
        good = self._magic in f"{request.system} {shown}" or (request.config.seed or 0) % 2 == 1
        self._script["question"] = [GOOD if good else "What happened then?"]
        return super().complete(request)


class Teacher:
    """Proposes the magic instruction in the format of each optimizer."""

    def complete(self, request: Request) -> Response:
        prompt = f"{request.system} {request.messages[-1].text}"
        if "module_advice" in prompt:
            names = [line.split()[1] for line in prompt.splitlines() if line.startswith("Module ")]
            advice = {"discussion": "-", "module_advice": json.dumps({name: MAGIC for name in names})}
            text = "".join(f"[[ ## {name} ## ]]\n{value}\n" for name, value in advice.items())
        elif "new_instruction" in prompt:
            text = json.dumps({"new_instruction": f"Write one question. {MAGIC}"})
        else:
            fields = ("observations", "summary", "program_description", "module_description", "proposed_instruction")
            text = "".join(f"[[ ## {name} ## ]]\nWrite one question. {MAGIC}\n" for name in fields)
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(id=None, model="local/t", message=Message.assistant(text), finish_reason="stop", usage=usage)

    @property
    def lm(self) -> dspy.LM:
        return dspy.LM("local/t", engine=self, cache=False, num_retries=0)


def is_vague(name: str, inputs: dict[str, Any]) -> bool:
    return name == "independent" and inputs.get("question") == "What happened then?"


def program_of(recipe: str = "single", **tools: Any) -> WholeRecipe:
    critics = dict.fromkeys(STEPS, ScriptedCritic(is_vague, low=0.2))  # too low to be rewritten
    return WholeRecipe(
        recipe,
        tools_of(**{"demos": DEMOS, "critics": critics, **tools}),
        PlainTextAdapter(),
        **({} if recipe == "multi" else {"candidates": 1}),
    )


def label(number: int, text: str = TEXT, split: str = "train", kind: str = "good") -> ChunkLabel:
    fields: dict[str, Any] = {"id": f"c{number}", "document": f"d{number}", "topic": "Henn ferry > Loss"}
    return ChunkLabel(**fields, text=text, split=split, label=kind, reason="ok" if kind == "good" else "citation")


def nothing_near(chunk_id: str, limit: int) -> list[Any]:
    return []


def examples(count: int = 4) -> list[dspy.Example]:
    labels = [label(number, TEXT.replace("36", str(36 + number))) for number in range(count)]
    return attempt_examples("single", labels, languages_with(None), nothing_near, candidates=1)["train"]


def score(program: Any, engine: ScriptedEngine, rows: list[dspy.Example]) -> float:
    with dspy.context(lm=engine.lm):
        return float(dspy.Evaluate(devset=rows, metric=attempt_metric, num_threads=1)(program).score)


@pytest.mark.parametrize("recipe", sorted(RECIPES.keys() - {"profiled"}))  # it needs mode free
def test_named_predictors_are_writing_steps(recipe):
    program = program_of(recipe)
    steps = [name.rpartition(".")[2] for name, _ in program.named_predictors()]
    assert "question" in steps
    assert len(steps) == len(set(steps))
    assert not any(STEPS[step].decides for step in steps)
    assert set(program.dump_state()) == {name for name, _ in program.named_predictors()}


def test_prediction_has_first_draft_or_rejects():
    (row,) = examples(1)
    engine = ScriptedEngine({})
    with dspy.context(lm=engine.lm):
        made = program_of()(**row.inputs())
    assert (made.question, made.answer, made.evolution, made.probability) == (GOOD, "22 February 2009", "simple", 0.9)
    assert made.drafts == [{key: made[key] for key in ("question", "answer", "evolution", "probability")}]
    assert attempt_metric(row, made) == 0.9
    with dspy.context(lm=ScriptedEngine({"question": "What happened then?"}).lm):
        none = program_of()(**row.inputs())
    assert (none.question, none.answer, none.evolution, none.drafts) == ("", "", "", [])
    assert attempt_metric(row, none) == attempt_metric(row, none, None, None, None) == 0
    scored = attempt_metric(row, none, [], "program.seed.ask.question", [])
    assert scored.score == 0
    assert scored.feedback == "judge refused 'What happened then?': not independent."


@pytest.mark.parametrize("script", [{"answer": "not stated"}, {"answer": "14 March 1911"}])
def test_rejected_answer_scores_zero(script):
    (row,) = examples(1)
    with dspy.context(lm=ScriptedEngine(script).lm):
        made = program_of()(**row.inputs())
    assert made.rejects
    assert "judge" not in {each["step"] for each in made.rejects}
    assert attempt_metric(row, made) == 0


def test_changed_instructions_and_demos_reach_the_model():
    (row,) = examples(1)
    program, engine = program_of(), ScriptedEngine({})
    (question,) = [predict for name, predict in program.named_predictors() if name.endswith(".question")]
    question.signature = question.signature.with_instructions(f"Write one question. {MAGIC}")
    question.demos = [dspy.Example(augmented=True, **LEARNED)]
    other = program.deepcopy()
    assert other.predictors()[1] is not program.predictors()[1]
    for copied in (other, program_of()):
        copied.load_state(json.loads(json.dumps(program.dump_state())))
        with dspy.context(lm=engine.lm):
            copied(**row.inputs())
        sent = engine.requests[-2]
        assert sent.system == f"Write one question. {MAGIC}"
        # The original demo of the language, then the new one.
        shown = [message.text.strip() for message in sent.messages if message.role == "assistant"]
        assert shown == ["When?", "Why?"]


def test_states_contain_changed_steps_only():
    program, engine = program_of(), ScriptedEngine({})
    assert program.states() == {}
    (question,) = [predict for name, predict in program.named_predictors() if name.endswith(".question")]
    question.demos = [dspy.Example(augmented=True, **LEARNED)]
    states = json.loads(json.dumps(program.states()))
    assert list(states) == ["question"]
    assert [demo["language"] for demo in states["question"]["demos"]] == ["en", "de", "en"]
    recipe = RECIPES["single"]
    run = recipe.program(tools_of(states=states), recipe.options(candidates=1))
    outcome, _ = make_attempt(run, attempt_on("single", "simple", chunk_of(), None, candidates=1), engine)
    assert reasons(outcome) == []
    shown = [message.text.strip() for message in engine.requests[0].messages if message.role == "assistant"]
    assert shown == ["When?", "Why?"]
    # A later compile starts from all of these demos.
    again = WholeRecipe("single", tools_of(states=states), PlainTextAdapter())
    assert again.states() == {}


def test_rollouts_use_their_temperature_and_seed():
    (row,) = examples(1)
    engine = ScriptedEngine({})
    for lm in (engine.lm, engine.lm.copy(rollout_id=3, temperature=1.0)):
        with dspy.context(lm=lm):
            program_of()(**row.inputs())
    drawn = [(request.config.temperature, request.config.seed) for request in engine.requests]
    assert drawn == [(0.0, None), (0.0, None), (1.0, 3), (1.0, 3)]


def simba(program: Any, rows: list[dspy.Example]) -> Any:
    optimizer = dspy.SIMBA(
        metric=attempt_metric, bsize=2, num_candidates=2, max_steps=2, prompt_model=Teacher().lm, num_threads=1
    )
    return optimizer.compile(program, trainset=rows)


def mipro(program: Any, rows: list[dspy.Example]) -> Any:
    # Labelled demos are whole attempts, which steps ignore.
    demos = {"max_bootstrapped_demos": 1, "max_labeled_demos": 1}
    optimizer = dspy.MIPROv2(
        metric=attempt_metric, prompt_model=Teacher().lm, auto=None, num_candidates=3, num_threads=1, **demos
    )
    return optimizer.compile(program, trainset=rows[:2], valset=rows[2:], num_trials=6, minibatch=False)


def gepa(program: Any, rows: list[dspy.Example]) -> Any:
    optimizer = dspy.GEPA(
        metric=attempt_metric, reflection_lm=Teacher().lm, max_metric_calls=40, component_selector="all", num_threads=1
    )
    return optimizer.compile(program, trainset=rows[:2], valset=rows[2:])


@pytest.mark.parametrize("compile_whole", [simba, mipro, gepa])
def test_optimizers_improve_a_whole_recipe(compile_whole: Callable[..., Any]):
    rows, engine = examples(), MagicWordEngine()
    program = program_of()
    before = score(program, engine, rows)
    with dspy.context(lm=engine.lm):
        better = compile_whole(program, rows)
    assert before == 0
    assert score(better, engine, rows) == 90
    assert program.states() == {}
    states = json.loads(json.dumps(better.states()))
    assert "question" in states
    assert score(program_of(states=states), engine, rows) == 90
