"""Runs saved by imports and transforms."""

import json
from pathlib import Path

import numpy as np
import pytest
import scripted_run
from elsewhere import Elsewhere
from loaded_run import SETTINGS, loaded_run

import groundset
from groundset import run as runs
from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers
from groundset.executors import LOCAL
from groundset.progress import Progress
from groundset.retrieval.reranker import load_reranker
from groundset.retrieval_eval.compare import compare
from groundset.retrieval_eval.configs import retriever_configs
from groundset.retrieval_eval.search import SearchOptions
from groundset.run import Run, save_run
from groundset.sets.exporting import export_run, exported_run
from groundset.store.items import refused_rows
from groundset.store.lineage import Lineage, Parent
from groundset.store.run_store import RunStore
from programs.errors import InputError, RunError, RunMismatchError
from programs.types import Reject


def made(out: Path, of: Run | None = None) -> list[str]:
    of = loaded_run() if of is None else of
    return save_run(out, of, of.lineage("sample", size=4, by=None, balanced=True, where='a == "b c"', dry=False))


def test_saved_run_round_trips(tmp_path: Path) -> None:
    before = loaded_run()
    made(tmp_path / "run", before)
    after = Run.loaded(tmp_path / "run")
    for name in ("samples", "chunks", "documents", "rejects", "reviews", "settings"):
        assert getattr(after, name) == getattr(before, name), name
    assert np.array_equal(after.question_vectors, before.question_vectors)
    assert np.array_equal(after.chunk_vectors, before.chunk_vectors)
    (parent,) = after.parents
    assert (parent.name, parent.samples) == ("run", 4)
    assert parent.lineage is not None
    assert parent.lineage.parents == before.parents


def test_identity_depends_on_the_saved_data(tmp_path: Path) -> None:
    other = loaded_run().replace(rejects=[])
    for name, of in (
        ("one", loaded_run()),
        ("two", loaded_run()),
        ("three", loaded_run().only([0, 1])),
        ("four", other),
    ):
        made(tmp_path / name, of)
    one, two, *others = (Run.loaded(tmp_path / name).parents[0].identity for name in ("one", "two", "three", "four"))
    assert one == two
    assert len({one, *others}) == 3


def test_subset_keeps_vectors_and_reviews(tmp_path: Path) -> None:
    before = loaded_run()
    made(tmp_path / "run", before.only([2, 0]))
    after = Run.loaded(tmp_path / "run")
    assert [sample.id for sample in after.samples] == ["q-3", "q-1"]
    assert np.array_equal(after.question_vectors, before.question_vectors[[2, 0]])
    assert [(review.kind, review.item) for review in after.reviews] == [("sample", "q-1"), ("reject", "1")]


def test_misaligned_vectors_are_rejected(tmp_path: Path) -> None:
    before = loaded_run()
    with pytest.raises(ValueError, match="3 samples and vectors"):
        made(tmp_path / "run", before.replace(samples=before.samples[:3]))
    with pytest.raises(ValueError, match="4 chunks and vectors"):
        made(tmp_path / "run", before.replace(chunk_vectors=before.chunk_vectors[:3]))


def test_record_has_lineage_and_zero_costs(tmp_path: Path) -> None:
    command = "`groundset sample first --size 4 --balanced --where 'a == \"b c\"'`"
    summary = made(tmp_path / "run")
    assert summary == [
        f"4 samples (simple 3, reasoning 1) on 4 chunks of 2 documents, made by {command}.",
        "Question kinds: time 2.",
    ]
    run = groundset.open_run(tmp_path / "run")
    assert run.summary == "\n".join(summary)
    assert (run.status, len(run), run.record["asked"]) == ("complete", 4, 4)
    assert run.record["evolutions"] == {"simple": 3, "reasoning": 1}
    nothing = ("attempts", "calls", "prompt_tokens", "completion_tokens", "seconds", "call_seconds")
    assert [run.record[name] for name in nothing] == [0] * 6
    assert run.record["counts"] == {"judge": {"tried": 0, "refused": 1}}
    lineage = Lineage.model_validate(run.record["lineage"])
    assert lineage.parents == (Parent(name="first", identity="a" * 64, samples=4),)
    assert str(tmp_path) not in json.dumps(run.record["lineage"])
    assert {name: run.record[name] for name in SETTINGS} == SETTINGS


def test_saved_run_can_be_exported_and_compared(tmp_path: Path) -> None:
    made(tmp_path / "run")
    assert [sample.id for sample in exported_run(tmp_path / "run").samples] == ["q-1", "q-2", "q-3"], "q-4 was refused"
    assert tuple(export_run(tmp_path / "run", "autorag", tmp_path / "out")) == (3, 4)
    run = Run.loaded(tmp_path / "run")
    configs = retriever_configs(make_config(run.settings["configuration"]), (), (), [20])
    assert len(configs) == 2
    elsewhere, found = Elsewhere(), []
    for executor in (LOCAL, elsewhere):
        options = SearchOptions(scripted_run.Encoder, load_reranker, executor=executor)
        comparison = compare(run, configs, options, monitor=Progress(quiet=True))
        assert [len(result.findings) for result in comparison.results] == [4, 4]
        found.append([result.findings for result in comparison.results])
    assert found[0] == found[1]
    assert elsewhere.items > len(run.documents), "documents were cut and chunks embedded there"


def test_rejects_of_a_saved_run_can_be_written_as_rows(tmp_path: Path) -> None:
    gone = Reject(step="update", reason="the chunk is gone", chunk_id="no more", question="Who?")
    before = loaded_run()
    made(tmp_path / "run", before.replace(rejects=[*before.rejects, gone]))
    with RunStore.read(tmp_path / "run") as store:
        rows = list(refused_rows(store))
    assert [(row["question"], row["passage"]) for row in rows] == [("It?", before.chunks[0].text), ("Who?", "")]


def test_saved_run_cannot_be_continued(tmp_path: Path) -> None:
    made(tmp_path / "run")
    before = Run.loaded(tmp_path / "run").parents
    docs = scripted_run.write_documents(tmp_path / "docs")
    openers = Openers(scripted_run.lm_opener(scripted_run.ScriptedEngine()), scripted_run.Encoder)
    refused = r"was made by `groundset sample first .*` and cannot be continued"
    with pytest.raises(RunMismatchError, match=refused):
        run_generation(make_config({"documents": (docs,)}), tmp_path / "run", openers=openers)
    assert Run.loaded(tmp_path / "run").parents == before


def test_save_rejects_used_folders(tmp_path: Path) -> None:
    made(tmp_path / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, message in (
        ("run", "holds a run already"), ("other", "holds other files"), ("file", "is a file"),
        ("file/run", "is a file, not a folder"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            made(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "other", "run"]
    (tmp_path / "empty").mkdir()
    made(tmp_path / "empty")
    assert len(groundset.open_run(tmp_path / "empty")) == 4


@pytest.mark.parametrize("failing", ["write_files", "_fill"])
def test_failed_save_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    def fail(*_: object) -> None:
        raise RunError("the part: the disk is full") from OSError(28, "No space left on device", "part")

    monkeypatch.setattr(runs, failing, fail)
    with pytest.raises(RunError) as error:
        made(tmp_path / "run")
    assert str(error.value).startswith(f"--out {tmp_path / 'run'}: ")
    assert "No space left on device" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_loading_needs_a_run_with_samples(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the folder of a run"):
        Run.loaded(tmp_path)
    made(tmp_path / "run", loaded_run().only([]))
    with pytest.raises(InputError, match="holds no samples"):
        Run.loaded(tmp_path / "run")
