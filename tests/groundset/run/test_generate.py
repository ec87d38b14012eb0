"""Whole runs: documents in, samples and rejects out."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scripted_run import PLACES, Opened, write_documents

import groundset
import groundset.aligning  # before a fixture replaces what it imports
import groundset.rows
from groundset.programs.errors import GroundsetError, InputError, RunError, StateError
from groundset.run.generate import generate
from groundset.run.options import CommandOptions
from groundset.run.options import generate as command
from groundset.run.run import Run, open_run

PARQUET_ROWS = groundset.rows.parquet_rows


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_documents_become_samples_with_provenance(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundset.rows.parquet_rows", PARQUET_ROWS)
    documents = write_documents(tmp_path / "docs")
    run = opened.run(documents=(documents,), out=tmp_path / "run", size=10)
    assert (run.status, len(run)) == ("complete", 10)
    assert Counter(sample.evolution for sample in run) == {
        "simple": 6,
        "reasoning": 2,
        "multi_context": 1,
        "conditional": 1,
    }
    written = rows(tmp_path / "run", "samples.jsonl")
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
    rejects = rows(tmp_path / "run", "rejects.jsonl")
    assert rejects
    assert all(row["chunk_id"] in run.chunks and row["reason"] and row["step"] for row in rejects)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (record["status"], record["accepted"], record["models"]["lm"]["name"]) == (
        "complete",
        10,
        "scripted",
    )
    assert record["calls"] == len(opened.script.requests)
    assert record["prompt_tokens"] > 0
    assert run.vectors.shape == (len(run.chunks), 64)


def test_one_worker_repeats_itself_to_the_byte(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        opened.run(chunks=chunks, out=tmp_path / name)
    for file in ("samples.jsonl", "rejects.jsonl"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_larger_size_goes_on(opened: Opened, chunks: Path, tmp_path: Path) -> None:
    first = opened.run(chunks=chunks, out=tmp_path / "run")
    calls = len(opened.script.requests)
    assert opened.run(chunks=chunks, out=tmp_path / "run").samples == first.samples
    assert len(opened.script.requests) == calls
    grown = opened.run(chunks=chunks, out=tmp_path / "run", size=12)
    assert len(grown) == 12
    assert {sample.id for sample in first} <= {sample.id for sample in grown}
    assert grown.record["calls"] == len(opened.script.requests)


def test_a_set_that_was_carried_over_goes_on(
    opened: Opened, chunks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundset.retrieval.embed.open_embedder", lambda spec: opened.encoder)
    run = opened.run(chunks=chunks, out=tmp_path / "run")
    gone = {chunk.chunk_id for sample in run[:2] for chunk in sample.contexts}
    lines = [
        line
        for line in chunks.read_text().splitlines(True)
        if json.loads(line)["chunk_id"] not in gone
    ]
    rest = tmp_path / "rest.jsonl"
    rest.write_text("".join(lines))
    found = groundset.align(run, chunks=rest, out=tmp_path / "new", quiet=True)
    assert 2 <= len(found.rejects) == len(run) - len(found)
    with pytest.raises(RunError, match="was made of other documents"):
        opened.run(chunks=chunks, out=tmp_path / "new")
    whole = opened.run(chunks=rest, out=tmp_path / "new")
    assert (whole.status, len(whole), whole.record["models"]["lm"]["name"]) == (
        "complete",
        6,
        "scripted",
    )
    assert whole.samples[: len(found)] == found.samples
    assert len({sample.question for sample in whole}) == 6
    with pytest.raises(RunError, match="has --seed 0, not 1"):
        opened.run(chunks=rest, out=tmp_path / "new", seed=1)


def test_a_budget_ends_the_run_with_status_3(
    opened: Opened, chunks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert generate(opened.options(chunks=chunks, out=out, budget_calls=5, quiet=False)) == 3
    printed = capsys.readouterr().out
    assert "The budget (--budget-calls 5) ended the run." in printed
    assert "To go on: the same command with a larger budget." in printed
    assert len(opened.script.requests) == 5
    assert generate(opened.options(chunks=chunks, out=out)) == 0


def test_too_few_chunks_end_with_status_3(
    opened: Opened, chunks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert generate(opened.options(chunks=chunks, out=out, size=50, quiet=False)) == 3
    printed = capsys.readouterr().out
    assert "of 50 samples" in printed
    assert "Nothing is left to ask in these chunks, missing (" in printed
    assert "Its own search finds " in printed
    assert " not at all; n=" in printed
    assert f"Next: groundset review {out}" in printed


def test_a_model_that_fails_keeps_what_was_finished(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    before = opened.script.answers["judge"]
    opened.script.answers["judge"] = lambda prompt: 1 / 0
    with pytest.raises(GroundsetError, match=r"the language model failed .*division by zero"):
        opened.run(chunks=chunks, out=tmp_path / "run")
    assert open_run(tmp_path / "run").status == "failed"
    opened.script.answers["judge"] = before
    assert opened.run(chunks=chunks, out=tmp_path / "run").status == "complete"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "--seed 0, not 1"),
        ({"mix": "simple=1"}, "--mix"),
        ({"lm": "changed"}, "--lm scripted"),
        ({"chunk_size": 400}, "--chunk-size 500, not 400"),
        ({"across_documents": True}, "--across-documents False, not True"),
    ],
)
def test_a_run_goes_on_with_the_same_options_only(
    opened: Opened, chunks: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    given: dict[str, Any] = {"chunks": chunks, "out": tmp_path / "run"}
    opened.run(**given)
    with pytest.raises(RunError, match=message) as error:
        opened.run(**given, **change)
    assert "begin another one, in another --out" in str(error.value)


def test_a_run_goes_on_with_the_same_documents_only(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    opened.run(chunks=chunks, out=tmp_path / "run")
    chunks.write_text(chunks.read_text().replace("Arden", "Ardens"))
    with pytest.raises(
        RunError, match=r"was made of other documents; .*; `groundset export` joins several"
    ):
        opened.run(chunks=chunks, out=tmp_path / "run", size=9)


def test_a_dry_run_says_what_a_run_would_take_and_writes_nothing(
    opened: Opened,
    chunks: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
    monkeypatch.setattr("groundset.run.forecast.open_embedder", lambda spec: opened.encoder)
    before = sorted(tmp_path.rglob("*"))
    assert (
        command(CommandOptions.parse({**given, "documents": documents, "embedder": "nowhere"})) == 0
    )
    first = capsys.readouterr().out
    assert (
        command(CommandOptions.parse({**given, "chunks": chunks, "embedder": str(tmp_path)})) == 0
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
        ("not known without the embedder: groundset models pull nowhere.", first),
        (
            (
                "would use 20 of 20 chunks that it read.\nForms of question: simple 6 (20 chunks"
                " carry it)"
            ),
            second,
        ),
        (
            (
                "10 samples: about 38 calls, 33,000 prompt tokens and 3,000 generated ones, price"
                " 0.04; time: that"
            ),
            second,
        ),
        ("from about 22 points on; 5 points take about 197 questions.", second),
        ("documents state and answer 4 questions themselves, which are taken first.\n", third),
        ("about 2 chunks carry an easy English fact: expect about 6 of 10; a larger --lm", third),
        ("\n6 samples: about 9 calls, 4,182 prompt", third),
        ("2 different questions in ", third),
        ("\n2 samples: about 16 calls, 12,940 prompt tokens", third),
    ):
        assert line in printed
    with pytest.raises(InputError, match="--out must be given"):
        CommandOptions.parse({"chunks": chunks})
    assert (sorted(tmp_path.rglob("*")), opened.script.requests) == (before, [])


def test_a_saved_run_cannot_go_on(opened: Opened, chunks: Path, tmp_path: Path) -> None:
    run = opened.run(chunks=chunks, out=tmp_path / "run")
    part = run.filter(lambda sample: sample.evolution == "simple").save(tmp_path / "part")
    assert (len(part), part.record["source"], part.status) == (3, "run", "complete")
    assert part.vectors.shape == run.vectors.shape
    assert part.record["models"] == run.record["models"]
    with pytest.raises(RunError, match="was saved or imported, and cannot go on"):
        opened.run(chunks=chunks, out=tmp_path / "part")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": "none"}, "--recipe none: choose one of"),
        ({"mix": "simple"}, "'simple' is not of the form NAME=WEIGHT"),
        ({"mix": "simples=1"}, "there is no simples; there are simple, reasoning"),
        ({"mix": "simple=0"}, "weights must be 0 or more, and one of them above 0"),
        ({"kinds": "fact=-1"}, "weights must be 0 or more"),
        ({"mix": "like=1"}, "--mix like: name a file of your own queries"),
        ({"mix": "reasoning=1", "recipe": "single"}, "--mix reasoning: there is only simple, "),
        ({"personas": ("a nurse",), "mix": "simple=1"}, "--personas: add persona=WEIGHT to --mix"),
        ({"clues": 2}, "--clues is not for the recipe evolved, but for profiled"),
        ({"recipe": "multi", "min_chunks": 4}, "--max-chunks 3 is less than --min-chunks 4"),
        ({"recipe": "given"}, "--recipe given without --questions: name the file"),
        ({"panel": True, "questions": Path("q.txt")}, "--panel is not for the recipe given"),
        ({"questions": Path("q.md")}, "--questions q.md: name a .txt, .csv or .jsonl file"),
        ({"language": "german"}, "no known ISO 639-1 code"),
        ({"price": "1"}, "give the prices of a million"),
        ({"price": "1e308,1"}, "--price 1e308,1: give the prices of a million"),
        ({"size": 2**63}, f"--size {2**63}: does not fit 64 bits"),
        ({"out": Path("a\rb")}, "a path must not contain a carriage return"),
        ({"guided": True, "critic_lm": "critic"}, "--critic-lm: heads judge for a guided model"),
        ({"guided": True, "panel": True}, "--panel: a guided model cannot"),
        ({"guided": True, "recipe": "multi"}, "--recipe multi: a guided model cannot"),
        (
            {"guided": True, "mix": "reasoning=1"},
            "there is only simple for a guided model; take a larger --lm",
        ),
        ({"documents": ("nowhere",)}, "no such file or folder: nowhere"),
        ({"chunks": None}, "no documents"),
        ({"compiled": "nowhere"}, "--compiled nowhere: there is no such folder or file"),
    ],
)
def test_wrong_options_are_one_line_and_write_nothing(
    opened: Opened, chunks: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        opened.run(**{"chunks": chunks, "out": tmp_path / "run", **options})
    assert not (tmp_path / "run").exists()


def test_a_folder_with_other_files_is_left_alone(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    out = tmp_path / "home"
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match=r"holds other files \(letter.txt\) and no run"):
        opened.run(chunks=chunks, out=out)
    assert [path.name for path in out.iterdir()] == ["letter.txt"]


def test_heads_judge_where_they_are_asked_to(opened: Opened, chunks: Path, tmp_path: Path) -> None:
    run = opened.run(chunks=chunks, out=tmp_path / "run", critic="head", mix="simple=1", size=4)
    assert len(run) == 4
    assert "judge" not in opened.script.steps()
    assert run[0].trail[-1].step == "judge"
    opened.encoder.sha256 = "11" * 32
    with pytest.raises(StateError, match="were fitted with another --embedder"):
        opened.run(chunks=chunks, out=tmp_path / "other", critic="head")


def test_a_model_judges_chunks_where_it_is_asked_to(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    run = opened.run(
        chunks=chunks, out=tmp_path / "run", chunk_critic="lm", size=50, mix="simple=1"
    )
    (refused,) = [reject for reject in run.rejects if reject.step == "chunk"]
    assert refused.reason == "not self-contained: ok"
    assert "Irwell" in run.chunks[refused.chunk_id].text


def test_roundtrip_asks_about_every_chunk_and_keeps_what_the_judge_refuses(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    run = opened.run(chunks=chunks, out=tmp_path / "run", recipe="roundtrip", size=None)
    by_chunk = Counter(sample.contexts[0].chunk_id for sample in run)
    assert set(by_chunk.values()) == {1}
    calder = next(chunk for chunk in run.chunks.values() if "Calder" in chunk.text)
    assert calder.chunk_id not in by_chunk or run.status == "complete"


def test_pairs_are_chunks_that_are_alike_but_apart(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    run = opened.run(chunks=chunks, out=tmp_path / "run", recipe="multi", size=4)
    assert len(run) == 4
    places = {chunk_id: place for place, chunk_id in enumerate(run.chunks)}
    for sample in run:
        first, second = (places[chunk.chunk_id] for chunk in sample.contexts)
        assert abs(first - second) > 1 or len({chunk.doc_id for chunk in sample.contexts}) == 2


def test_compiled_states_are_served(
    opened: Opened, chunks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    run = opened.run(
        chunks=chunks,
        out=tmp_path / "run",
        compiled=str(folder),
        size=2,
        mix="simple=1",
        quiet=False,
    )
    assert run.record["compiled"]["steps"] == ["judge"]
    told = ": judge, the head of chunk; not used: the head of judge (only with --critic head)\n"
    assert told in capsys.readouterr().err
    assert any(
        str(request.system).startswith("Judge like an owl.")
        for _, request in opened.script.requests
    )
    with pytest.raises(RunError, match="--compiled"):
        opened.run(chunks=chunks, out=tmp_path / "run", compiled="none", size=3, mix="simple=1")


def test_a_critic_judges_and_the_other_model_writes(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    run = opened.run(
        chunks=chunks,
        out=tmp_path / "run",
        critic_lm="critic",
        size=3,
        mix="simple=1",
        chunk_critic="lm",
    )
    assert run.record["models"]["critic_lm"]["name"] == "critic"
    assert not {"chunk", "judge"} & set(opened.script.steps())
    assert set(opened.critic.steps()) == {"chunk", "judge"}


def test_styles_are_worded_as_the_options_say(opened: Opened, chunks: Path, tmp_path: Path) -> None:
    like = tmp_path / "queries.txt"
    like.write_text("mill year\nwho built it\n")
    given: dict[str, Any] = {
        "personas": ("a miller's heir",),
        "like": str(like),
        "mix": "simple=1,persona=1,like=1",
    }
    opened.run(chunks=chunks, out=tmp_path / "run", size=3, **given)
    prompts = "\n".join(
        str(request.messages) for name, request in opened.script.requests if name == "revise"
    )
    assert "a miller's heir" in prompts
    assert "who built it" in prompts


def test_profiled_asks_about_what_a_search_for_clues_finds(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    profiles = tmp_path / "profiles.json"
    value = {"description": "in one word"}
    profiles.write_text(
        json.dumps({"parameters": {"type": {"description": "the kind", "values": {"year": value}}}})
    )
    opened.script.answers["profiles"] = "type: year"
    given: dict[str, Any] = {
        "recipe": "profiled",
        "profile_file": profiles,
        "min_length": 0,
        "merge": 1,
    }
    run = opened.run(chunks=chunks, out=tmp_path / "run", size=1, **given)
    assert [sample.evolution for sample in run] == ["profiled"]
    assert run[0].metadata["profile"] == {"type": "year"}
    assert run[0].retrieval_gt[0][0] in run.chunks


def test_a_wrong_tracking_address_is_refused_first(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="--tracking"):
        opened.run(chunks=chunks, out=tmp_path / "run", track=True, tracking="")
    assert not opened.script.requests


def test_a_corpus_without_a_run_is_begun_again(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    (tmp_path / "run" / "corpus").mkdir(
        parents=True
    )  # of a process that was killed before it began the run
    assert len(opened.run(chunks=chunks, out=tmp_path / "run", size=1)) == 1


def test_a_run_is_read_as_a_sequence_and_a_table(
    opened: Opened, chunks: Path, tmp_path: Path
) -> None:
    run = opened.run(chunks=chunks, out=tmp_path / "run")
    assert run[0] == run.samples[0]
    assert run[1:3] == run.samples[1:3]
    table = run.to_pandas()
    assert len(table) == 6
    assert list(table.columns)[:3] == ["id", "question", "answer"]
    assert table["rank"].dtype == "Int64"
    assert repr(run) == f"<Run {run.folder}: 6 samples, complete>"
    assert "1 more." in run._repr_html_()
    assert isinstance(open_run(str(run.folder)), Run)
