"""The class `groundset.Run`."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scripted_run

import groundset
from groundset import page
from groundset.retrieval import embedder
from groundset.store.record import write_files
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.types import Attempt, Chunk, Context, Document, Reject, Retrieval, Sample

EVIL = '<script>alert("x")</script>'
DOCUMENT = Document(doc_id="d", path="d.md", title=EVIL, text="First.")
CHUNK = Chunk(chunk_id="d-0", doc_id="d", path="d.md", title=EVIL, start=0, end=6, text="First.")
CONTEXT = Context(chunk=CHUNK, passage=CHUNK.text, topic="D", language="en")
COLUMN = re.compile(r"`(\w+)`")


def sample(number: int, rank: int | None, split: str | None = None) -> Sample:
    found = Retrieval(rank=rank, retrieved_id="d-0", retrieved_content="First.", score=1)
    return Sample(
        id=f"s{number}",
        question=f"What is {number} {EVIL}?",
        answer=f"That & {EVIL}",
        evolution="simple",
        language="en",
        contexts=(CHUNK,),
        retrieval_gt=(("d-0", "d-1"),),
        retrieval=found,
        probability=0.75,
        split=split,
        trail=(),
        metadata={"source_rank": 1},
    )


@pytest.fixture
def run(tmp_path: Path) -> groundset.Run:
    meta = {
        "asked": 9, "compiled": {}, "models": {"critic": {"compiled": "uncompiled"}}, "identity": {"program": {}},
    }  # fmt: skip
    folder = tmp_path / "run"
    with RunStore.create(folder, meta=meta, documents=[DOCUMENT], chunks=[CHUNK]) as store:
        reject = Reject(step="judge", reason="not independent", chunk_id="d-0", question="It?")
        for number in range(7):
            store.attempts.begin(Attempt(number=number, contexts=(CONTEXT,), wanted="simple"))
            result = sample(number, None if number else 2)
            store.results.decide(number, Verdict("simple", False), result, np.zeros(4, dtype=np.float32), [reject])
        write_files(store, "short", "all chunks were asked. A lower --size would help.")
    return groundset.open_run(str(folder))


def test_run_is_a_sequence_of_samples(run: groundset.Run) -> None:
    assert len(run) == 7
    assert [item.id for item in run] == [f"s{number}" for number in range(7)]
    assert (run[0], run[-1], run[1:3]) == (run.samples[0], run.samples[6], run.samples[1:3])
    assert isinstance(run[0], groundset.Sample)
    assert [(item.step, item.reason) for item in run.rejects] == [("judge", "not independent")] * 7
    assert run.record == json.loads((run.folder / "run.json").read_text())
    assert (run.is_complete, run.status) == (False, "short")
    assert run.summary.startswith("Kept 7 of 9 samples (simple 7) from 7 attempts")
    assert "A lower size would help." in run.summary
    assert repr(run) == f"<Run {run.folder}: 7 of 9 samples, short>"


def test_to_pandas_has_the_documented_columns(run: groundset.Run) -> None:
    table = run.to_pandas()
    lines = [line.split("|")[1] for line in str(groundset.Run.to_pandas.__doc__).splitlines() if "| `" in line]
    documented = COLUMN.findall(" ".join(lines))
    assert documented == list(dict.fromkeys(["id", "question", "answer", "contexts", *documented]))
    assert set(documented) == set(table.columns)
    first = table.iloc[0].to_dict()
    assert (first["contexts"], first["chunk_ids"], first["paths"]) == (["First."], ["d-0"], ["d.md"])
    assert (first["retrieval_gt"], first["rank"], first["probability"]) == ([["d-0", "d-1"]], 2, 0.75)
    assert table["rank"].isna().sum() == 6
    assert table["rank"].dtype == pd.Int64Dtype()


def test_to_pandas_of_an_empty_run_has_all_columns(run: groundset.Run) -> None:
    empty = groundset.Run(run.folder, samples=[])
    assert list(empty.to_pandas().columns) == list(run.to_pandas().columns)
    assert len(empty.to_pandas()) == 0


def test_repr_html_is_escaped_and_truncated(run: groundset.Run) -> None:
    shown = run._repr_html_()
    assert EVIL not in shown
    assert "What is 0 &lt;script&gt;" in shown
    assert "What is 5" not in shown
    assert "<p>2 more.</p>" in shown


def test_open_in_browser_writes_an_escaped_page(run: groundset.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(page.webbrowser, "open", opened.append)
    file = run.open_in_browser()
    assert opened == [file.as_uri()]
    assert file == run.folder / "samples.html", "in the run folder"
    text = file.read_text(encoding="utf-8")
    assert EVIL not in text
    for number in range(7):
        assert f"<h2>What is {number} &lt;script&gt;" in text
    assert "Kept 7 of 9 samples" in text
    assert "rank 2" in text
    assert "http" not in text.replace("http-equiv", "")


def test_open_in_browser_does_not_follow_links(
    run: groundset.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page.webbrowser, "open", str)
    (tmp_path / "mine").write_text("precious")
    (run.folder / "samples.html").symlink_to(tmp_path / "mine")
    assert run.open_in_browser().is_file()
    assert (tmp_path / "mine").read_text() == "precious"


def test_invalid_folders_and_formats_are_rejected(run: groundset.Run, tmp_path: Path) -> None:
    with pytest.raises(groundset.InputError, match="nowhere does not exist"):
        groundset.open_run(tmp_path / "nowhere")
    with pytest.raises(groundset.InputError, match=r"^format xml: no such format; choose one of adk, argilla, "):
        run.export("xml", tmp_path / "out")
    (run.folder / "run.json").write_text("[" * 100_000)
    with pytest.raises(groundset.InputError, match=r"^cannot read .*run\.json"):
        groundset.open_run(run.folder)
    (run.folder / "run.json").unlink()
    with pytest.raises(groundset.InputError, match=r"^cannot read .*run\.json"):
        groundset.open_run(run.folder)


def test_export(tmp_path: Path) -> None:
    docs = scripted_run.write_documents(tmp_path / "docs")
    scripted_run.generate(docs, tmp_path / "run", parser="none", size=2)
    counts = groundset.open_run(tmp_path / "run").export("autorag", str(tmp_path / "out"))
    assert counts == (2, 20)
    assert len(pd.read_parquet(tmp_path / "out" / "qa.parquet")) == 2


def test_transforms_return_new_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "load_embedder", scripted_run.Encoder)
    docs = scripted_run.write_documents(tmp_path / "docs")
    scripted_run.generate(docs, tmp_path / "run", size=6, parser="none")
    run = groundset.open_run(tmp_path / "run")
    some = run.sample(2, out=tmp_path / "some", by="document", seed=1)
    assert (some.folder, len(some)) == (tmp_path / "some", 2)
    assert all(sample in run.samples for sample in some)
    parts = run.split({"train": 0.5, "test": 0.5}, out=str(tmp_path / "parts"))
    assert {sample.split for sample in parts} == {"train", "test"}
    first = run[0].id
    rest = run.drop(f'id == "{first}"', out=tmp_path / "rest")
    assert [sample.id for sample in rest] == [sample.id for sample in run[1:]]
    assert rest.rejects[-1].step == "drop"
    judged = run.relabel("head", out=tmp_path / "judged", compiled="none", keep=True, quiet=True)
    assert len(judged) == 6
    assert judged.record["models"]["critic"]["name"] == "head"
    now = run.update(docs, out=tmp_path / "now", quiet=True)
    assert now.samples == run.samples
    for result, command in ((some, "sample"), (parts, "split"), (rest, "drop"), (judged, "relabel"), (now, "update")):
        assert result.record["lineage"]["command"] == command
        assert f"`groundset {command} run" in result.summary
    with pytest.raises(groundset.InputError, match=r"^by age: choose one of"):
        run.sample(1, out=tmp_path / "more", by="age")
    with pytest.raises(groundset.InputError, match=r"^out .*: holds a run already"):
        run.drop("split", out=tmp_path / "rest")
