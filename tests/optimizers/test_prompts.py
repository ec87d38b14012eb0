"""Stock optimizers of DSPy on a judge and on a whole program, with models that answer from a
script.
"""

import dspy
import pytest
from dspy.lm15 import Request, Response
from labelled import ASKED, FACT, Judge, golds, questions, write
from refusal import refuses
from scripted import response, user_turn

from groundset.optimizers.metrics import METRICS
from groundset.optimizers.prompts import CompileResult, compile_program, measure, state_of
from groundset.optimizers.tasks import CompileTask, task
from groundset.programs import guided
from groundset.programs.english import Fact
from groundset.programs.errors import CompileError, ModelError
from groundset.programs.guided import Guided
from groundset.programs.onechunk import OneChunk
from groundset.programs.step import Step, step
from groundset.run.compiled import Compiled, read_states


class Writer(Judge):
    """Writes the same instruction, in whatever form it is asked for."""

    def complete(self, request: Request) -> Response:
        self.requests.append(("writer", request))
        fields = [
            line.split(" ## ")[1]
            for line in str(request.system).splitlines()
            if line.startswith("[[ ## ")
        ]
        text = "\n".join(
            f"[[ ## {name} ## ]]\nBe STRICT about it." for name in fields if name != "completed"
        )
        return response(text or "Be STRICT about it.")


def opened(engine) -> dspy.LM:
    return dspy.LM("local/scripted", engine=engine, cache=False)


@pytest.fixture(scope="module")
def judging(tmp_path_factory) -> CompileTask:
    return task(
        "judge", [write(tmp_path_factory.mktemp("labels") / "questions.jsonl", questions())]
    )


@pytest.fixture(scope="module")
def asking(tmp_path_factory) -> CompileTask:
    files = [write(tmp_path_factory.mktemp("labels") / "golds.jsonl", golds(4))]
    return task("evolved", files, program=OneChunk())


def compiled(judging: CompileTask, name: str, engine: Judge, **options) -> CompileResult:
    """Compile the judge, and check that it is better than before."""
    lm = opened(engine)
    assert sum(measure(judging.program, judging.devset, judging.metric, lm=lm)) == 6
    made = compile_program(judging, name, lm=lm, prompt_lm=opened(Writer()), **options)
    assert sum(measure(made.program, judging.devset, judging.metric, lm=lm)) == 12
    return made


def test_labelled_demos_are_rows_with_the_fields_of_the_step(judging, tmp_path):
    made = compiled(judging, "labeled", Judge(least=4))
    assert isinstance(made.program, Step)
    assert all(
        {"question", "reason", "clear"} <= set(demo) <= set(judging.program.signature.fields)
        for demo in made.program.demos
    )
    assert made.calls == 0
    assert made.ending == "complete"
    assert len(judging.program.demos) == 1, "the program that was given is not changed"
    turned = task("judge", [write(tmp_path / "questions.jsonl", questions())], seed=1)
    other = compile_program(turned, "labeled", lm=opened(Judge()))
    assert state_of(other.program) != state_of(made.program)


def test_bootstrapped_demos_are_what_the_metric_accepts(judging):
    made = compiled(judging, "bootstrap", Judge(least=2))
    assert "fine" in {demo.reason for demo in made.program.demos}, "the model wrote it"
    assert made.program.config == judging.program.config


@pytest.mark.parametrize(("name", "calls"), [("random-search", 60), ("mipro", 100), ("gepa", 60)])
def test_searches_record_what_they_compared(judging, name, calls):
    made = compiled(judging, name, Judge(least=2 if name == "random-search" else 99), calls=calls)
    means = {each.number: each.mean(judging.devset) for each in made.candidates}
    assert means[made.chosen.number] == 1
    assert [*means] == list(range(len(made.candidates)))
    assert made.calls <= calls
    instructions = made.program.signature.instructions
    assert ("STRICT" in instructions) == (name != "random-search")
    assert all(each.state["self"]["instructions"] for each in made.candidates)


def test_simba_gets_feedback_and_samples(judging):
    engine = Judge()
    made = compile_program(
        judging, "simba", lm=opened(engine), prompt_lm=opened(Writer()), calls=300
    )
    assert made.ending == "complete"
    assert {request.config.temperature for _, request in engine.requests} == {0.0, 1.0}, (
        "else no two samples differ"
    )


def test_whole_program(asking):
    lm = opened(Judge(ask=ASKED))
    assert measure(asking.program, asking.devset, asking.metric, lm=lm) == [1.0] * 4
    made = compile_program(asking, "bootstrap", lm=lm, calls=50)
    demos = {name: predictor.demos for name, predictor in made.program.named_predictors()}
    assert len(demos["ask"]) == len(demos["judge"]) == 4
    assert set(demos["ask"][0]) >= {"forms", "question", "evidence"}
    assert len(demos["compare"]) == len(step("compare").demos), (
        "a step that no trace reached keeps its own"
    )


class Guide(Judge):
    """Names the weir in every second question, and in all of them if it is told or shown how."""

    def complete(self, request: Request) -> Response:
        self.requests.append(("fact", request))
        able = "STRICT" in str(request.system) or FACT in str(request.messages[:-1])
        able = able or len(self.requests) % 4 > 1
        asked = "Who built the weir?" if able else "Who was it?"
        return response(asked if "Fact:" in user_turn(request) else "Jonas Alder")


@pytest.mark.parametrize("name", ["bootstrap", "mipro", "gepa"])
def test_program_of_guided_models(name, tmp_path, monkeypatch):
    def judge(**_):
        return dspy.Prediction(fit=True, probability=0.9)

    facts = {True: [], False: [Fact(FACT, "Jonas Alder", "Who built")]}
    monkeypatch.setattr(guided, "easy_facts", lambda text, *_: facts["has 0 gates" in text])
    files = [write(tmp_path / "golds.jsonl", golds(4))]
    work = task("guided", files, program=Guided(None, judge, score=judge))
    lm = opened(Guide())
    assert sum(measure(work.program, work.testset, work.metric, lm=lm)) < 3
    made = compile_program(work, name, lm=lm, prompt_lm=opened(Writer()), calls=200)
    made.program.save(str(tmp_path / "program.json"))
    served = Guided(None, judge, score=judge)
    Compiled(read_states(tmp_path / "program.json")).apply([served])
    assert measure(served, work.testset, work.metric, lm=lm) == [1.0] * 3, (
        "without the passage that states no easy fact"
    )


def test_a_stock_optimizer_without_anything_of_ours(judging):
    program, metric = OneChunk(), METRICS["judge"]
    rows = {"trainset": judging.trainset, "valset": judging.devset}
    with dspy.context(lm=opened(Judge())):
        search = {
            "auto": None,
            "num_candidates": 2,
            "max_bootstrapped_demos": 1,
            "max_labeled_demos": 1,
        }
        mipro = dspy.MIPROv2(metric=metric, prompt_model=opened(Writer()), num_threads=1, **search)
        program.judge = mipro.compile(program.judge, **rows, num_trials=3, minibatch=False)
        assert "STRICT" in program.judge.signature.instructions


def test_the_budget_ends_a_search_with_the_best_candidate_so_far(judging):
    made = compile_program(judging, "random-search", lm=opened(Judge(least=2)), calls=30)
    assert made.ending == "budget"
    assert made.calls == 30
    assert made.chosen.mean(judging.devset) == 1
    none = compile_program(judging, "random-search", lm=opened(Judge(least=2)), calls=5)
    assert state_of(none.program) == state_of(judging.program)


def test_what_is_asked_again_is_in_the_journal_and_costs_no_budget(judging):
    engine, writer = Judge(), Writer()
    lms = {"lm": opened(engine), "prompt_lm": opened(writer)}
    made = compile_program(judging, "gepa", calls=60, **lms)
    asked = list(map(repr, [*engine.requests, *writer.requests]))
    assert made.calls == len(set(asked)) < len(asked)


def failing(after: int, error: BaseException) -> Judge:
    """Return a model that fails after some calls."""

    class Failing(Judge):
        def complete(self, request: Request) -> Response:
            if len(self.requests) >= after:
                raise error
            return super().complete(request)

    return Failing(least=2)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["bootstrap", "random-search", "gepa", "simba"])
def test_a_model_that_fails_ends_the_compile(judging, name, threads):
    lm = opened(failing(3, ModelError("the server is gone")))
    with refuses("the server is gone", ModelError):
        compile_program(judging, name, lm=lm, prompt_lm=opened(Writer()), threads=threads)
    with refuses("the server is gone", ModelError):
        measure(judging.program, judging.devset, judging.metric, lm=lm, threads=threads)


def test_completions_that_cannot_be_read_cost_a_row(judging):
    class Sorry(Judge):
        def complete(self, request):
            answer = super().complete(request)
            return response("I am sorry, I cannot.") if len(self.requests) % 2 else answer

    assert 0 in measure(judging.program, judging.devset, judging.metric, lm=opened(Sorry()))


def test_a_model_that_cannot_write_instructions(judging):
    with refuses("name a larger one with --prompt-lm", CompileError):
        compile_program(judging, "mipro", lm=opened(Judge()), calls=200)


def test_a_task_needs_rows_of_every_split(asking, tmp_path):
    assert asking.trainset[0].inputs().keys() == ["passage", "topic"]
    with refuses(
        "there are no dev and no test rows for judge; add some with --labels", CompileError
    ):
        task("judge", [write(tmp_path / "few.jsonl", questions(4)[:4])])
