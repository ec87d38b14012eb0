"""Whole runs: documents in, samples and rejects out."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from json_lines import read
from model_server import serving
from refusal import refuses
from scripted import step_of
from scripted_run import ANSWERS, PLACES, write_documents

import groundset
import groundset.aligning  # before a fixture replaces what it imports
import groundset.rows
from groundset.exports.sets import joined
from groundset.models.open import open_model
from groundset.pages.report import report_page
from groundset.programs.errors import GroundsetError, RunError, StateError
from groundset.run.command import CommandOptions
from groundset.run.command import generate as command
from groundset.run.folder import DATABASE
from groundset.run.generate import generate
from groundset.run.record import SELECTED
from groundset.run.run import Run, open_run
from groundset.run.show import summary
from groundset.run.store import Review, Store

PARQUET_ROWS = groundset.rows.parquet_rows


def test_documents_become_samples_with_provenance(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("groundset.rows.parquet_rows", PARQUET_ROWS)
    documents = write_documents(tmp_path / "docs")
    mix = "simple=6,reasoning=2,conditional=1,multi_context=1"
    run = opened.run(documents=(documents,), size=10, mix=mix)
    assert run.status == "complete"
    assert len(run) == 10
    assert Counter(sample.evolution for sample in run) == {
        "simple": 6,
        "reasoning": 2,
        "multi_context": 1,
        "conditional": 1,
    }
    written = read(opened.out / "samples.jsonl")
    assert [row["id"] for row in written] == [sample.id for sample in run]
    one = next(row for row in written if row["evolution"] == "simple")
    (context,) = one["contexts"]
    document = run.documents[context["doc_id"]]
    assert document.text[context["start"] : context["end"]] == context["text"]
    assert one["retrieval_gt"][0][0] == context["chunk_id"]
    assert one["metadata"]["evidence"][0] in context["text"]
    assert [record["step"] for record in one["trail"]][-1] == "judge"
    assert one["probability"] == 0.9
    pair = next(row for row in written if row["evolution"] == "multi_context")
    assert len(pair["contexts"]) == len(pair["retrieval_gt"]) == 2
    rejects = read(opened.out / "rejects.jsonl")
    assert rejects
    assert all(row["chunk_id"] in run.chunks and row["reason"] and row["step"] for row in rejects)
    record = json.loads((opened.out / "run.json").read_text())
    assert record["status"] == "complete"
    assert record["accepted"] == 10
    assert record["models"]["lm"]["name"] == "scripted"
    assert record["calls"] == len(opened.script.requests)
    assert record["prompt_tokens"] > 0
    assert run.vectors.shape == (len(run.chunks), 64)


def test_a_larger_size_goes_on(opened):
    first = opened.run()
    calls = len(opened.script.requests)
    assert opened.run().samples == first.samples
    assert len(opened.script.requests) == calls
    grown = opened.run(size=12)
    assert len(grown) == 12
    assert {sample.id for sample in first} <= {sample.id for sample in grown}
    assert grown.record["calls"] == len(opened.script.requests)


def test_a_set_that_was_carried_over_goes_on(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("groundset.retrieval.embed.open_embedder", lambda spec: opened.encoder)
    run = opened.run()
    gone = {chunk.chunk_id for sample in run[:2] for chunk in sample.contexts}
    lines = [
        line
        for line in opened.chunks.read_text().splitlines(True)
        if json.loads(line)["chunk_id"] not in gone
    ]
    rest = tmp_path / "rest.jsonl"
    rest.write_text("".join(lines))
    found = groundset.align(run, chunks=rest, out=tmp_path / "new", quiet=True)
    assert 2 <= len(found.rejects) == len(run) - len(found)
    with refuses("was made of other documents", RunError):
        opened.run(out=tmp_path / "new")
    whole = opened.run(chunks=rest, out=tmp_path / "new")
    assert whole.status == "complete"
    assert len(whole) == 6
    assert whole.record["models"]["lm"]["name"] == "scripted"
    assert whole.record["started"]
    assert whole.samples[: len(found)] == found.samples
    assert len({sample.question for sample in whole}) == 6
    with refuses("has --seed 0, not 1", RunError):
        opened.run(chunks=rest, out=tmp_path / "new", seed=1)


def test_a_budget_ends_the_run_with_status_3(opened, tmp_path, capsys):
    for most in (5, 9, 20):
        assert generate(opened.options(size=10, quiet=False, budget_calls=most)) == 3
        printed = capsys.readouterr().out
        assert f"The budget (--budget-calls {most}) ended the run." in printed
        assert "To go on: the same command with a larger budget." in printed
        assert len(opened.script.requests) == most
    opened.run(size=10)
    opened.run(size=10, out=tmp_path / "whole")
    for file in ("samples.jsonl", "rejects.jsonl"):
        whole = (tmp_path / "whole" / file).read_bytes()
        assert (opened.out / file).read_bytes() == whole, "as if it had not been ended"


def test_too_few_chunks_end_with_status_3(opened, tmp_path, capsys):
    assert generate(opened.options(size=50, quiet=False)) == 3
    printed = capsys.readouterr().out
    assert "of 50 samples" in printed
    assert "Nothing is left to ask in these chunks, missing (" in printed
    assert "Its own search finds " in printed
    assert " not at all; n=" in printed
    assert f"Next: groundset review {opened.out}" in printed


def test_a_model_that_fails_keeps_what_was_finished(opened, tmp_path):
    before = opened.script.answers["judge"]
    opened.script.answers["judge"] = lambda prompt: 1 / 0
    with refuses(r"the language model failed .*division by zero", GroundsetError):
        opened.run()
    assert open_run(opened.out).status == "failed"
    opened.script.answers["judge"] = before
    assert opened.run().status == "complete"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "--seed 0, not 1"),
        ({"lm": "changed"}, "--lm scripted"),
        ({"chunk_size": 400}, "--chunk-size 500, not 400"),
    ],
)
def test_a_run_goes_on_with_the_same_options_only(opened, monkeypatch, change, message):
    opened.run()
    if "seed" in change:
        monkeypatch.setattr("groundset.run.generate.open_model", None)  # it is found before
    with refuses(message, RunError) as error:
        opened.run(**change)
    assert "begin another one, in another --out" in str(error.value)


def test_a_run_goes_on_with_the_same_documents_only(opened):
    opened.run()
    opened.chunks.write_text(opened.chunks.read_text().replace("Arden", "Ardens"))
    with refuses(r"was made of other documents; .*; `groundset export` joins several", RunError):
        opened.run(size=9)


def test_a_dry_run_says_what_a_run_would_take_and_writes_nothing(opened, tmp_path, capsys):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    documents = (write_documents(tmp_path / "docs", 1), tmp_path / "picture.png")
    (tmp_path / "own.txt").write_text("Who built Arden?\nhello\nWho built Birk?\n")
    faq = "".join(
        f"## How does one open the gate of {name}?\n\n{'It has a chain. ' * 9}\n\n"
        for name in PLACES[:4]
    )
    (tmp_path / "faq.md").write_text(faq)
    given = {
        "lm": "openai/m@http://127.0.0.1:9/v1",
        "size": 10,
        "price": "1,2",
        "quiet": True,
        "dry_run": True,
    }
    before = sorted(tmp_path.rglob("*"))
    assert (
        command(CommandOptions.parse({**given, "documents": documents, "embedder": "nowhere"})) == 0
    )
    first = capsys.readouterr().out
    assert (
        command(CommandOptions.parse({**given, "chunks": opened.chunks, "embedder": str(tmp_path)}))
        == 0
    )
    second = capsys.readouterr().out
    for own in ({"guided": True}, {"questions": tmp_path / "own.txt", "size": None}):
        pages = (*documents, tmp_path / "faq.md")
        assert (
            command(
                CommandOptions.parse({**given, "documents": pages, "embedder": "nowhere", **own})
            )
            == 0
        )
    third = capsys.readouterr().out
    for line, printed in (
        ("skipped picture.png: unsupported type .png\n1 document with 5 chunks, 1 skipped", first),
        (
            (
                "\nSubjects: none that headings name.\nForms of question: simple 7 (20 chunks carry"
                " it)"
            ),
            second,
        ),
        (
            (
                "10 samples: about 50 calls, 41,000 prompt tokens and 2,900 generated ones, price"
                " 0.05; time: that"
            ),
            second,
        ),
        ("from about 22 points on; 5 points take about 197 questions.", second),
        ("documents state and answer 4 questions themselves, which are taken first.\n", third),
        ("4 of 10 are sure, which documents state; about 2 chunks carry an easy", third),
        ("\n6 samples: about 9 calls, 4,182 prompt", third),
        ("2 different questions in ", third),
        ("\n2 samples: about 16 calls, 12,940 prompt tokens", third),
    ):
        assert line in printed
    with refuses("--out must be given"):
        CommandOptions.parse({"chunks": opened.chunks})
    assert sorted(tmp_path.rglob("*")) == before
    assert opened.script.requests == []


def test_a_saved_run_cannot_go_on(opened, tmp_path):
    run = opened.run()
    part = run.filter(lambda sample: sample.evolution == "simple").save(tmp_path / "part")
    assert len(part) == 4
    assert part.record["source"] == "run"
    assert part.status == "complete"
    assert part.vectors.shape == run.vectors.shape
    assert part.record["models"] == run.record["models"]
    with refuses("was saved or imported, and cannot go on", RunError):
        opened.run(out=tmp_path / "part")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": "none"}, "--recipe none: choose one of"),
        ({"mix": "simple"}, "'simple' is not of the form NAME=WEIGHT"),
        (
            {"mix": "simples=1"},
            "no simples .did you mean simple or simplify.*there are",
        ),
        ({"mix": "simple=0"}, "weights must be 0 or more, and one of them above 0"),
        ({"users": "everybody"}, "--users everybody: choose one of staff, consumers, forum"),
        ({"mix": "reasoning=1", "recipe": "single"}, "--mix reasoning: there is only simple, "),
        (
            {"recipe": "single", "across_documents": True},
            "--across-documents is not for the recipe single, but for evolved, multi",
        ),
        (
            {"recipe": "given"},
            "--recipe given: the recipe given, and no other, answers",
        ),
        ({"questions": Path("q.md")}, "--questions q.md: name a .txt, .csv or .jsonl file"),
        ({"language": "german"}, "no known ISO 639-1 code"),
        ({"price": "1"}, "give the prices of a million"),
        ({"price": "1e308,1"}, "--price 1e308,1: give the prices of a million"),
        ({"size": 2**63}, f"--size {2**63}: does not fit 64 bits"),
        ({"out": Path("a\rb")}, "a path must not be empty, nor contain"),
        ({"guided": True, "critic_lm": "critic"}, "--critic-lm: a guided model cannot"),
        ({"guided": True, "answers": "open"}, "--answers: a guided model cannot"),
        ({"guided": True, "recipe": "multi"}, "--recipe multi: a guided model cannot"),
        (
            {"guided": True, "mix": "reasoning=1"},
            "there is only simple for a guided model; take a larger --lm",
        ),
        ({"documents": ("nowhere",)}, "no such file or folder: nowhere"),
        ({"track": True, "tracking": ""}, "--tracking: must not be empty"),
    ],
)
def test_wrong_options_are_one_line_and_write_nothing(opened, options, message):
    with refuses(message):
        opened.run(**options)
    assert not opened.out.exists()
    assert not opened.script.requests


def test_a_folder_with_other_files_is_left_alone(opened):
    opened.out.mkdir()
    (opened.out / "letter.txt").write_text("dear")
    with refuses(r"holds other files \(letter.txt\) and no run"):
        opened.run()
    assert [path.name for path in opened.out.iterdir()] == ["letter.txt"]


def test_heads_judge_where_they_are_asked_to(opened, tmp_path):
    run = opened.run(critic="head", mix="simple=1", size=4)
    assert len(run) == 4
    assert "judge" not in opened.script.steps()
    assert run[0].trail[-1].step == "judge"
    opened.encoder.sha256 = "11" * 32
    with refuses("were fitted with another --embedder", StateError):
        opened.run(out=tmp_path / "other", critic="head")


def test_a_model_judges_chunks_where_it_is_asked_to(opened):
    run = opened.run(chunk_critic="lm", size=50, mix="simple=1")
    (refused,) = [reject for reject in run.rejects if reject.step == "score"]
    assert refused.reason == "not self-contained: ok"
    assert "Irwell" in run.chunks[refused.chunk_id].text


def test_roundtrip_asks_about_every_chunk(opened):
    opened.script.answers["ask"] = lambda prompt: ANSWERS["ask"](prompt.replace("?", ""))
    run = opened.run(recipe="roundtrip", size=None)
    once = [sample.contexts[0].chunk_id for sample in run]
    assert len(once) == len(set(once)) == len(run.chunks) - 2, "one repeats a question"
    assert [each.reason for each in run.rejects if "Calder" in str(each.question)] == [
        "not clear: as said"
    ] * 3
    repeated = {reject.reason for reject in run.rejects if reject.step == "duplicate"}
    assert any(each.startswith("repeats a question of the run: 'When did ") for each in repeated)


def test_pairs_are_chunks_that_are_alike_but_apart(opened):
    run = opened.run(recipe="multi", size=4)
    assert len(run) == 4
    places = {chunk_id: place for place, chunk_id in enumerate(run.chunks)}
    for sample in run:
        first, second = (places[chunk.chunk_id] for chunk in sample.contexts)
        assert abs(first - second) > 1 or len({chunk.doc_id for chunk in sample.contexts}) == 2


def test_compiled_states_are_served(opened, tmp_path, capsys):
    import dspy

    from groundset.programs.step import STEPS

    folder = tmp_path / "states"
    folder.mkdir()
    predictor = dspy.Predict(STEPS["judge"].signature.with_instructions("Judge like an owl."))
    predictor.demos = [dspy.Example(passage="p", question="q?", reason="r", answer="a", clear=True)]
    predictor.save(folder / "judge.json")
    opened.script.answers[""] = opened.script.answers[
        "judge"
    ]  # the script knows steps by their instructions
    shutil.copytree(tmp_path / "data" / "compiled" / "head", folder / "head")
    run = opened.run(compiled=str(folder), size=2, mix="simple=1", quiet=False)
    assert run.record["compiled"]["steps"].keys() == {"judge"}
    told = f"--compiled {folder}: judge, the head of score\n"
    assert told in capsys.readouterr().err
    assert any(
        str(request.system).startswith("Judge like an owl.")
        for _, request in opened.script.requests
    )
    with refuses("--compiled", RunError):
        opened.run(compiled="none", size=3, mix="simple=1")


def test_staged_asks_a_server_in_six_steps(opened, monkeypatch):
    monkeypatch.setattr("groundset.run.generate.open_model", open_model)

    def answer(body):
        said = ANSWERS.get(step_of(body["messages"][0]["content"]), "Hello")
        return said(body["messages"][-1]["content"]) if callable(said) else said

    with serving(answer) as server:
        run = opened.run(recipe="staged", lm=server.spec, size=2, users="reader")
    assert len(run) == 2
    steps = ["score", "keyphrases", "ask", "evolve", "judge", "answer"]
    assert [record.step for record in run[0].trail] == steps
    assert run[0].trail[0].probability > 0.5, "a head scored the chunk"
    assert "evolve" in {reject.step for reject in run.rejects}


def test_a_critic_judges_and_the_other_model_writes(opened):
    run = opened.run(critic_lm="critic", size=3, mix="simple=1", chunk_critic="lm")
    assert run.record["models"]["critic_lm"]["name"] == "critic"
    assert not {"score", "judge"} & {name for name, _ in opened.script.requests}
    assert {name for name, _ in opened.critic.requests} == {"score", "judge"}


def prompts(opened, step):
    asked = (request for name, request in opened.script.requests if name == step)
    return "\n".join(str(request.messages) for request in asked)


def test_styles_are_worded_as_the_options_say(opened):
    opened.run(size=3, personas=("a miller's heir",), mix="simple=0.2")
    assert "a miller's heir" in prompts(opened, "revise")


def test_questions_are_put_as_users_do(opened, tmp_path):
    run = opened.run(size=2, mix="simple=1", users="forum")
    assert {sample.metadata["situation"] for sample in run} == {"an heir"}
    assert "Wording: about" in prompts(opened, "reword")
    queries = tmp_path / "queries.txt"
    queries.write_text("mill year\nwho built it\n")
    opened.run(size=2, mix="simple=1", users=str(queries), out=tmp_path / "like")
    assert "Examples" in prompts(opened, "reword")
    assert "who built it" in prompts(opened, "reword")
    opened.script.requests.clear()
    opened.run(size=2, mix="simple=1", users="reader", out=tmp_path / "reader")
    assert "reword" not in opened.script.steps()


def test_hard_keeps_what_searches_disagree_on_and_says_so(opened, tmp_path):
    def reword(prompt):
        place = next(each for each in PLACES if each in prompt.rpartition("Question:")[2])
        # By meaning a word with an apostrophe is another one.
        own = place.lower()
        message = f"{place}'s mill" if PLACES.index(place) % 2 else f"{place} {own}hill {own}ford"
        return f"Situation: an heir\nMessage: {message}"

    opened.script.answers["reword"] = reword
    run = opened.run(size=6, mix="simple=1", hard=True)
    assert all(sample.question.endswith("'s mill") for sample in run)
    agreed = {each.reason for each in run.rejects if each.step == "retrieval"}
    assert agreed == {"searches agree on it: rank 1"}
    assert run.save(tmp_path / "saved").record["selected"] == SELECTED
    assert SELECTED in summary(run)
    assert SELECTED in report_page(run).replace("\n", " ")


def test_a_corpus_without_a_run_is_begun_again(opened, tmp_path):
    (opened.out / "corpus").mkdir(
        parents=True
    )  # of a process that was killed before it began the run
    assert len(opened.run(size=1)) == 1


def test_a_run_is_read_as_a_sequence_and_a_table(opened):
    run = opened.run()
    assert run[0] == run.samples[0]
    assert run[1:3] == run.samples[1:3]
    table = run.to_pandas()
    assert len(table) == 6
    assert list(table.columns)[:3] == ["id", "question", "answer"]
    assert table["rank"].dtype == "Int64"
    assert repr(run) == f"<Run {run.folder}: 6 samples, complete>"
    assert isinstance(open_run(str(run.folder)), Run)


def test_what_a_reviewer_refused_does_not_come_back(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("groundset.retrieval.embed.open_embedder", lambda spec: opened.encoder)
    docs, copy = write_documents(tmp_path / "docs"), tmp_path / "copy"
    run = opened.run(documents=(docs,), out=tmp_path / "run")
    with Store(run.folder / DATABASE) as store:
        for sample in run:
            store.add_review(Review(sample_id=sample.id, reviewer="ann", verdict="refused"))
    copy.mkdir()
    for file in docs.iterdir():
        (copy / f"copy-of-{file.name}").write_text(file.read_text())
    asked = {each.question for each in run}
    other = opened.run(documents=(copy,), out=tmp_path / "other", size=18)
    assert not {each.id for each in other} & {each.id for each in run}
    kept = {each.question for each in joined([Run(run.folder), other]).samples}
    assert kept == {each.question for each in other} - asked
    # What is lost with its passage is not asked again about the one in its place.
    for file in docs.iterdir():
        file.write_text(file.read_text().replace("was built in 1", "was built in 2"))
    moved = {"run": run.folder, "documents": (docs,), "out": tmp_path / "new", "quiet": True}
    aligned = groundset.aligning.carry_over(groundset.aligning.AlignOptions.parse(moved))
    assert [reject.step for reject in aligned.rejects] == ["refused"] * 6
    made = opened.run(documents=(docs,), out=tmp_path / "new")
    assert len(made) == 6
    assert not {each.question for each in made} & asked
