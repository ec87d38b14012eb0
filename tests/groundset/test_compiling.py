"""`groundset compile` with a model on a server, and with the smallest real model."""

import json
from collections.abc import Iterator
from pathlib import Path

import dspy
import mlflow
import pytest
from json_lines import write
from labelled import ASKED, FACT, KEPT, PASSAGE, REFUSED, golds, questions
from model_server import ModelServer, serving, wrote
from refusal import refuses
from scripted import FIT

import groundset
from groundset import compiling, labelling, models
from groundset.compiling import CompileOptions
from groundset.models.open import open_model
from groundset.programs import guided
from groundset.programs.english import Fact
from groundset.programs.errors import ModelError
from groundset.programs.onechunk import OneChunk
from groundset.programs.step import step
from groundset.retrieval import embed
from groundset.run.compiled import load_compiled, read_states
from groundset.run.options import JUDGE_LM
from groundset.tracking import Tracking


def judging(body):
    """Judge as well as the prompt has demos: with four, vague questions are refused."""
    messages = body["messages"]
    if "Evidence:" in messages[0]["content"]:
        return ASKED
    if "Self contained:" in messages[0]["content"]:
        return FIT
    vague = "Who built it" in messages[-1]["content"]
    return REFUSED if vague and len(messages) > 8 else KEPT.format(answer="Jonas Alder")


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serving(judging) as served:
        yield served


def logged(folder):
    """Return the run of MLflow of a compiled judge, after a look at what belongs to it."""
    client = mlflow.MlflowClient(f"sqlite:///{Path(folder).absolute()}/mlflow.db")
    experiment = client.get_experiment_by_name("groundset-judge")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.data.metrics.items() >= {"gain_test": 0.5, "compared": 1, "rows_dev": 12}.items()
    assert (
        run.data.params.items()
        >= {"model": "openai/tiny@server", "optimizer": "labeled", "seed": "0"}.items()
    )
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == {
        "judge.json",
        "candidates",
    }
    (output,) = run.outputs.model_outputs
    with Tracking(folder)._guarded():
        program = mlflow.dspy.load_model(f"models:/{output.model_id}")
    mlflow.clear_active_model()
    assert program(passage="Jonas Alder built it.", question="Who built it?").independent is False
    template = client.get_prompt_version("groundset-judge-openai-tiny-server", "1").template
    assert len(template) == 2 + 2 * 4
    assert "Question: {{question}}" in template[-1]["content"]
    return run


@pytest.fixture(autouse=True)
def labels(tmp_path, monkeypatch) -> Path:
    """Invented labels instead of the shipped ones; the folder of a test is where it works."""
    file = write(tmp_path / "labels.jsonl", [*questions(), *golds(2)])
    monkeypatch.setattr(labelling, "shipped_files", lambda: [file])
    monkeypatch.chdir(tmp_path)
    return file


def compiled(server, name="judge", **options):
    given = {"track": False, "quiet": True, "out": Path("out"), **options}
    (report,) = compiling.compile(CompileOptions(steps=(name,), lm=server.spec, **given))
    return report


def test_what_is_better_is_written_as_dspy_saves_it(server, status_of, capsys, labels):
    options = "--lm", server.spec, "--tracking", "store", "--out", "out"
    assert status_of("compile", "judge", *options) == 0
    shown = capsys.readouterr().out
    assert f"  logged: MLflow run {logged('store').info.run_id} in " in shown
    assert shown.splitlines()[:4] == [
        "judge for openai/tiny@server by labeled:",
        "  12 dev rows: 0.50 before, 1.00 after, gain +0.50",
        "  12 test rows: 0.50 before, 1.00 after, gain +0.50 (+0.25 to +0.75)",
        "  the test rows could have shown a gain of 0.36",
    ]
    assert "  1 candidate ran, 1 of them on all dev rows; " in shown
    assert "  written: out/judge.json\n" in shown
    own = load_compiled("out/judge.json", "any")
    registered = "prompts:/groundset-judge-openai-tiny-server/1"
    assert Tracking("store").version_of(own.hashes["judge"]) == registered, "runs link it"
    plain = dspy.Predict(step("judge").signature)
    plain.load("out/judge.json")
    assert len(plain.demos) == 4
    program = OneChunk()
    load_compiled("out", "any").apply([program])
    assert [dict(demo) for demo in program.judge.demos] == [dict(demo) for demo in plain.demos]
    record = json.loads(Path("out/records/judge.json").read_text("utf-8"))
    assert record["labels"].keys() == {labels.name}
    assert record["figures"]["gain_test"] == 0.5
    assert record["ending"] == "complete"
    assert record["options"]["seed"] == 0


def test_what_is_not_better_is_not_written(server, capsys):
    first = compiled(server)
    before = Path("out/judge.json").read_bytes()
    again = compiled(server, seed=1)
    assert first.figures["gain_dev"] == 0.5
    assert again.figures["gain_dev"] == 0
    assert again.figures["before_dev"] == 1, "what was compiled before is what must be beaten"
    assert not again.files
    assert (
        "not written: not better on dev rows than what is served, or worse on test rows; --keep"
        in capsys.readouterr().out
    )
    assert Path("out/judge.json").read_bytes() == before
    assert compiled(server, seed=1, keep=True).files == [Path("out/judge.json")]
    assert Path("out/judge.json").read_bytes() != before


def test_a_prompt_that_is_never_answered_costs_its_row_only(labels):
    rows = [row | {"passage": row["passage"] + row["id"]} for row in questions()]
    write(labels, rows)

    def filtering(body):
        shown = body["messages"][-1]["content"]
        return {**wrote(""), "choices": []} if "long.q100" in shown else judging(body)

    with serving(filtering) as server:
        report = compiled(server)
    assert report.ending == "complete"
    assert report.figures["after_dev"] == pytest.approx(11 / 12)


def test_what_is_worse_on_test_rows_is_not_written(server, labels):
    swapped = [
        {**row, "question": other["question"]}
        for row, other in zip(questions()[24:], questions()[25:], strict=False)
    ]
    write(labels, [*questions()[:24], *swapped])
    report = compiled(server)
    assert report.figures["gain_dev"] > 0
    assert report.figures["gain_test"] < 0
    assert not report.files


def test_interrupted_compiles_are_not_served_and_go_on(server, monkeypatch, capsys):
    from groundset.optimizers import prompts

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setitem(prompts.OPTIMIZERS, "labeled", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compiled(server, keep=True)
    shown = capsys.readouterr().out
    assert "interrupted: this is the best candidate so far" in shown
    assert " test rows:" not in shown
    assert not load_compiled("out", "any").states, "no run takes what no test rows confirmed"
    report = compiled(server)
    assert (report.figures["before_dev"], report.figures["gain_test"]) == (0.5, 0.5)


def test_a_recipe_is_a_file_for_each_step_that_changed(server):
    options = {"optimizer": "bootstrap", "keep": True, "critic_lm": server.spec}
    report = compiled(server, "evolved", out=Path("steps"), **options)
    assert report.figures["after_dev"] == 1
    assert read_states(Path("steps")).keys() == {"score", "ask", "judge"}
    report.program.save("evolved.json")
    assert read_states(Path("evolved.json")).keys() >= {"ask", "judge", "revise"}
    program = OneChunk()
    program.load("evolved.json")
    assert program.ask.demos


def test_what_no_gold_row_has_is_read_by_a_judge(server, monkeypatch):
    def unknown(spec, **options):
        if spec == JUDGE_LM:
            raise ModelError("it cannot be downloaded")
        return open_model(spec, **options)

    monkeypatch.setattr(compiling, "open_model", unknown)
    with refuses(
        f"--critic-lm: ask needs a judge, by default {JUDGE_LM}: it cannot be", ModelError
    ):
        compiled(server, "ask")
    monkeypatch.setattr(models.open, "open_model", lambda spec: open_model(server.spec))
    asked = dspy.Example(passage=PASSAGE, question="Where?", answer="here", evidence=[])
    written = dspy.Prediction(question="Who built it?", answer="Jonas Alder", evidence=[FACT])
    assert groundset.step("ask").metric(asked, written) == 0.95, "not read before it is asked"


def test_program_of_guided_models(server, monkeypatch, word_encoder):
    shipped = load_compiled("shipped", "").heads["judge"]
    monkeypatch.setattr(embed, "open_embedder", lambda _: word_encoder(shipped.embedder))
    monkeypatch.setattr("groundset.models.parser.open_parser", lambda _: None)
    monkeypatch.setattr(guided, "easy_facts", lambda *_: [Fact(FACT, "Jonas Alder", "Who built")])
    work = groundset.step("guided")
    assert (work.program.judge.name, work.program.grounding.name) == ("judge", "grounding")


def fitted(labels, **options):
    """Fit heads of judge to these labels alone."""
    given = {"optimizer": "heads", "out": Path("out"), "track": False, "quiet": True, **options}
    own = write(Path("own.jsonl"), labels)
    (report,) = compiling.compile(CompileOptions(steps=("judge",), labels=(own,), **given))
    return report


def test_heads_take_the_place_of_the_served_ones_if_they_are_not_worse(word_encoder, monkeypatch):
    monkeypatch.setattr(embed, "open_embedder", lambda _: word_encoder())
    monkeypatch.setattr(labelling, "shipped_files", list)
    rows = questions(40)
    report = fitted(rows, track=True, tracking="store")
    assert report.files == [Path("out/head/judge.json")]
    client = mlflow.MlflowClient(f"sqlite:///{Path('store').absolute()}/mlflow.db")
    (run,) = client.search_runs([client.get_experiment_by_name("groundset-judge").experiment_id])
    assert run.data.metrics["auc"] == 1
    assert "threshold 0." in str(report)
    assert "test rows: auc 1.00 (1.00 to 1.00), precision 1.00" in str(report)
    head = load_compiled("out", "any").heads["judge"]
    assert head.record["rows"] == {"train": 40, "dev": 40, "test": 40}
    turned = {"good": {"label": "bad", "reason": "vague"}, "bad": {"label": "good", "reason": "ok"}}
    wrong = [row | turned[row["label"]] if row["split"] != "test" else row for row in rows]
    report = fitted(wrong)
    assert not report.files
    assert "before: auc 1.00 (1.00 to 1.00), precision 1.00" in str(report)
    assert "not written: they rank (auc) or decide" in str(report)
    assert load_compiled("out", "any").heads["judge"] == head
    assert fitted(wrong, keep=True).files
    with refuses("STEP ask: heads are fitted for score, judge, grounding"):
        compiling.compile(
            CompileOptions(steps=("ask",), optimizer="heads", quiet=True, track=False)
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "magic", "lm": "x"}, "--optimizer magic: choose one of labeled, bootstrap"),
        ({}, "--optimizer labeled compiles for a model; name it with --lm"),
        ({"lm": "x", "rows": 0}, "--rows 0: input should be greater than or equal to 1"),
    ],
)
def test_options_that_are_wrong(options, message):
    with refuses(message):
        CompileOptions.parse({"steps": ("judge",), **options})


def test_more_that_is_wrong(server):
    with refuses("--optimizer labeled draws rows of one step; take bootstrap or another for stag"):
        compiled(server, "staged")
    with refuses("STEP nosuch: there is no such step or recipe; choose from score"):
        compiled(server, "nosuch")
    with refuses("--optimizer finetune trains one step of a local model"):
        compiled(server, optimizer="finetune")


@pytest.mark.model
def test_the_smallest_real_model(monkeypatch):
    rows = [
        {
            "step": "answer",
            "id": f"{split}{number}",
            "document": split,
            "split": split,
            "passage": "The mill is red.",
            "question": "Which colour has the mill?",
            "answer": "red",
        }
        for split in ("train", "dev", "test")
        for number in range(2)
    ]
    monkeypatch.setattr(labelling, "shipped_files", lambda: [write(Path("answers.jsonl"), rows)])
    options = {
        "lm": "smollm2-135m",
        "out": Path("out"),
        "track": False,
        "quiet": True,
        "keep": True,
    }
    (report,) = compiling.compile(CompileOptions(steps=("answer",), **options))
    assert report.figures["calls"] >= 2
    assert len(load_compiled("out", "smollm2-135m").states["answer"].demos) == 2
