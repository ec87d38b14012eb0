import json
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import scripted_run
from elsewhere import Elsewhere
from scripted_run import Encoder, generate, write_documents

from groundset.retrieval import embedder
from groundset.run import Run
from groundset.sets.transforms.update import Updated, update_run
from groundset.sources import Url
from groundset.store.run_store import RunStore
from programs.errors import InputError

Update = Callable[[], Updated]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[Encoder]:
    """Load the scripted embedder where one is asked for, and tell which were."""
    found: list[Encoder] = []

    def load(name: str) -> Encoder:
        found.append(Encoder(name))
        return found[-1]

    monkeypatch.setattr(embedder, "load_embedder", load)
    return found


@pytest.fixture
def run(docs: Path, tmp_path: Path) -> Path:
    generate(docs, tmp_path / "run", size=10, parser="none")
    return tmp_path / "run"


@pytest.fixture
def update(run: Path, docs: Path, tmp_path: Path) -> Update:
    return lambda: update_run(run, [docs], tmp_path / "now", quiet=True)


def test_update_without_changes_keeps_everything(
    update: Update, run: Path, loaded: list[Encoder], tmp_path: Path
) -> None:
    updated = update()
    assert (updated.kept, updated.cut_anew, updated.dropped) == (10, 0, [])
    assert updated.documents == {"unchanged": 5, "renamed": 0, "changed": 0, "new": 0, "gone": 0}
    assert "10 samples" in updated.lines[0]
    assert "`groundset update run docs`" in updated.lines[0]
    before, after = Run.loaded(run), Run.loaded(tmp_path / "now")
    assert after.samples == before.samples
    assert after.chunks == before.chunks
    assert np.array_equal(after.chunk_vectors, before.chunk_vectors)
    assert loaded == [], "nothing had to be embedded"


def test_update_of_a_renamed_file_changes_only_paths(update: Update, run: Path, docs: Path, tmp_path: Path) -> None:
    (docs / "doc0.md").rename(docs / "zero.md")
    updated = update()
    assert updated.documents == {"unchanged": 4, "renamed": 1, "changed": 0, "new": 0, "gone": 0}
    assert (updated.kept, updated.cut_anew) == (10, 0)
    before, after = Run.loaded(run), Run.loaded(tmp_path / "now")
    assert sorted(chunk.chunk_id for chunk in after.chunks) == sorted(chunk.chunk_id for chunk in before.chunks)
    for old, new in zip(before.samples, after.samples, strict=True):
        assert (old.id, old.retrieval_gt) == (new.id, new.retrieval_gt)
    assert {chunk.path for sample in after.samples for chunk in sample.contexts} >= {"zero.md"}


def test_update_with_a_path_taken_over_by_another_document(update: Update, docs: Path, loaded: list[Encoder]) -> None:
    (docs / "doc1.md").replace(docs / "doc0.md")
    updated = update()
    assert updated.documents == {"unchanged": 3, "renamed": 1, "changed": 0, "new": 0, "gone": 1}
    assert {reason for _, reason in updated.dropped} == {"document gone: doc0.md"}


def test_update_drops_changed_passages_and_remaps_the_rest(
    update: Update, run: Path, docs: Path, loaded: list[Encoder], tmp_path: Path
) -> None:
    before = Run.loaded(run)
    asked_about = {sample.contexts[0].chunk_id: sample.contexts[0] for sample in before.samples}.values()
    most, *_, least = Counter(chunk.path for chunk in asked_about).most_common()
    assert most[1] > 1
    lost, gone = next(chunk for chunk in asked_about if chunk.path == most[0]), least[0]
    file = docs / lost.path
    file.write_text(file.read_text().replace(lost.text, "Something else altogether stands here now. " * 5))
    (docs / gone).unlink()
    (docs / "new.md").write_text("# New\n\n" + "Of something that nobody has asked about until now. " * 4)
    updated = update()
    expected = {
        sample.id: f"passage gone from its document: {lost.path}"
        if sample.contexts[0] == lost
        else f"document gone: {gone}"
        for sample in before.samples
        if sample.contexts[0] == lost or sample.contexts[0].path == gone
    }
    assert {sample.id: reason for sample, reason in updated.dropped} == expected
    assert updated.documents == {"unchanged": 3, "renamed": 0, "changed": 1, "new": 1, "gone": 1}
    after = Run.loaded(tmp_path / "now")
    assert [sample.id for sample in after.samples] == [each.id for each in before.samples if each.id not in expected]
    assert [(reject.step, reject.reason) for reject in after.rejects[len(before.rejects) :]] == [
        ("update", reason) for reason in expected.values()
    ]
    chunks = {chunk.chunk_id: chunk for chunk in after.chunks}
    texts = {document.doc_id: document.text for document in after.documents}
    for sample in after.samples:
        (context,) = sample.contexts
        assert chunks[context.chunk_id] == context
        assert texts[context.doc_id][context.start : context.end] == context.text
        assert sample.retrieval.retrieved_id in chunks
    assert any(sample.contexts[0].path == lost.path for sample in after.samples), "the rest of a changed document"
    (encoder,) = loaded
    known = {chunk.text for chunk in before.chunks}
    assert encoder.encoded == len({chunk.text for chunk in after.chunks} - known), "only what is new"
    assert np.allclose(after.chunk_vectors, Encoder("").encode([chunk.text for chunk in after.chunks]))


def test_update_measures_ranks_again(
    update: Update, run: Path, docs: Path, loaded: list[Encoder], tmp_path: Path
) -> None:
    before = Run.loaded(run)
    first = before.samples[0]
    words = " ".join(first.question.split() * 12)
    (docs / "rival.md").write_text(f"# Rival\n\n{words}.\n")
    update()
    now = Run.loaded(tmp_path / "now").samples[0].retrieval
    assert first.retrieval.rank is not None
    assert now.rank is None or now.rank > first.retrieval.rank
    assert now.retrieved_id.startswith("rival")


def test_update_records_the_new_documents(update: Update, docs: Path, loaded: list[Encoder], tmp_path: Path) -> None:
    (docs / "new.md").write_text("# New\n\n" + "Of something that nobody has asked about until now. " * 4)
    (docs / "empty.md").write_text("")
    update()
    record = json.loads((tmp_path / "now" / "run.json").read_text())
    assert record["configuration"]["documents"] == [str(docs)]
    assert record["corpus"]["documents"] == record["documents"] == 6
    assert [skipped["path"] for skipped in record["skipped"]] == ["empty.md"]
    assert [parent["name"] for parent in record["lineage"]["parents"]] == ["run", "docs"]


def test_update_fails_if_all_samples_would_be_dropped(run: Path, loaded: list[Encoder], tmp_path: Path) -> None:
    other = write_documents(tmp_path / "other", documents=1)
    (other / "doc0.md").rename(other / "b.md")
    (other / "b.md").write_text("# B\n\n" + "Of something that nobody has asked about until now. " * 4)
    with pytest.raises(InputError, match=r"all 10 samples of .* dropped: document gone \(10\)"):
        update_run(run, [other], tmp_path / "now", quiet=True)
    with pytest.raises(InputError, match="no such file or folder"):
        update_run(run, [tmp_path / "none"], tmp_path / "now", quiet=True)
    assert not (tmp_path / "now").exists()


def test_update_of_a_merged_run_needs_a_chunk_file(run: Path, docs: Path, tmp_path: Path) -> None:
    with RunStore.open(run) as store:  # as merging leaves it
        store.set_meta("configuration", {**store.meta("configuration"), "chunker": None, "chunk_size": None})
    with pytest.raises(InputError, match=r"a file of chunks \(\.jsonl, \.parquet\)"):
        update_run(run, [docs], tmp_path / "now", quiet=True)


def test_update_checks_the_weights_of_the_embedder(update: Update, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Encoder):
        sha256 = "0" * 64

    monkeypatch.setattr(embedder, "load_embedder", Other)
    (docs / "new.md").write_text("# New\n\n" + "Of something that nobody has asked about until now. " * 4)
    with pytest.raises(InputError, match=r"weights of .* have changed"):
        update()


def test_update_from_a_chunk_file(tmp_path: Path, loaded: list[Encoder]) -> None:
    rows: list[dict[str, Any]] = [
        {"chunk_id": f"c{number}", "doc_id": "d", "text": " ".join(f"word{number}{place}" for place in range(30))}
        for number in range(6)
    ]
    file = tmp_path / "chunks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scripted_run.generate(file, tmp_path / "run", size=4, parser="none")
    with RunStore.open(tmp_path / "run") as store:  # as importing leaves it
        store.set_meta("configuration", {**store.meta("configuration"), "chunker": None, "chunk_size": None})
    before = Run.loaded(tmp_path / "run")
    lost = before.samples[0].contexts[0].chunk_id
    file.write_text("".join(json.dumps(row) + "\n" for row in reversed(rows) if row["chunk_id"] != lost))
    updated = update_run(tmp_path / "run", [file], tmp_path / "now", quiet=True)
    assert {sample.contexts[0].chunk_id for sample, _ in updated.dropped} == {lost}
    assert updated.kept + len(updated.dropped) == len(before.samples)


def test_urls_and_executors_do_not_change_the_result(
    update: Update, run: Path, docs: Path, loaded: list[Encoder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = next(iter(sorted(docs.iterdir())))
    changed.write_text(
        f"{changed.read_text()}\n\nA new end of the document, which is about the weather on the coast. " * 9
    )
    update()
    storage, elsewhere = fsspec.filesystem("memory"), Elsewhere()
    storage.put(f"{docs}/", "/updated/docs/", recursive=True)
    monkeypatch.setattr("groundset.sets.transforms.update.open_executor", lambda engine: nullcontext(elsewhere))
    update_run(run, [Url("memory://updated/docs")], tmp_path / "other", quiet=True)
    storage.rm("/updated", recursive=True)
    assert elsewhere.items > len(list(docs.iterdir())), "documents were read and new chunks embedded there"
    now, other = Run.loaded(tmp_path / "now"), Run.loaded(tmp_path / "other")
    assert (other.samples, other.chunks) == (now.samples, now.chunks)
    assert np.array_equal(other.chunk_vectors, now.chunk_vectors)
    assert other.settings["configuration"]["documents"] == ["memory://updated/docs"]
    here, there = (json.loads((tmp_path / name / "run.json").read_text())["lineage"] for name in ("now", "other"))
    assert there["parents"][-1] == here["parents"][-1], "name and hash of the documents"
