"""Validation and atomic writing of exports."""

import shutil
import subprocess
import sys
from dataclasses import replace
from io import BufferedWriter
from pathlib import Path

import pandas as pd
import pytest

from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from programs.errors import InputError

AUTORAG = [EXPORTS["autorag"]]


def test_export_rejects_folders_with_other_files(full_run, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match="is a file, not a folder"):
        write_set(full_run, AUTORAG, tmp_path / "out")
    (tmp_path / "out").unlink()
    (tmp_path / "thesis.docx").write_text("precious")
    with pytest.raises(InputError, match=r"holds other files \(thesis\.docx\)"):
        write_set(full_run, AUTORAG, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]


def test_export_validates_the_run(full_run, documents, chunks, samples, tmp_path):
    good = samples[0]
    cases = [
        ([], chunks, documents, "no samples"),
        ([good, good], chunks, documents, "question id q-1 occurs twice"),
        ([good.model_copy(update={"id": " "})], chunks, documents, "a question has no id"),
        ([good], [*chunks, chunks[0]], documents, "chunk id ferry-0002 occurs twice"),
        ([good], chunks[1:], documents, "sample q-1 .* chunk ferry-0002"),
        ([good.model_copy(update={"retrieval_gt": ()})], chunks, documents, "no ground-truth chunk"),
        ([good.model_copy(update={"answer": " "})], chunks, documents, "has no answer, .* `groundset drop"),
        ([good], chunks, documents[:1], "belongs to document clock, which is missing"),
        ([good], [*chunks, chunks[0].model_copy(update={"chunk_id": "x", "text": " "})], documents, "empty"),
    ]
    for some_samples, some_chunks, some_documents, message in cases:
        changed = full_run.replace(samples=some_samples, chunks=some_chunks, documents=some_documents)
        with pytest.raises(InputError, match=message):
            write_set(changed, AUTORAG, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_failed_export_keeps_the_earlier_one(full_run, tmp_path, monkeypatch):
    write_set(full_run, AUTORAG, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    import pyarrow.parquet as pq

    real = pq.write_table

    def full_disk(table: object, file: BufferedWriter) -> None:
        if Path(file.name).name == "qa.parquet":
            raise OSError(28, "No space left on device")
        real(table, file)

    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(InputError, match="No space left on device"):
        write_set(full_run.replace(samples=full_run.samples[:1]), AUTORAG, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_several_formats_are_written_atomically(full_run, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    good, broken = replace(AUTORAG[0], name="good"), replace(AUTORAG[0], name="broken", write=refuse)
    with pytest.raises(InputError, match="No space left on device"):
        write_set(full_run, [good, broken], tmp_path / "all")
    assert list((tmp_path / "all").rglob("*.parquet")) == []
    write_set(full_run, [good, replace(good, name="other")], tmp_path / "all")
    assert sorted(path.relative_to(tmp_path / "all").as_posix() for path in (tmp_path / "all").rglob("qa.parquet")) == [
        "good/qa.parquet",
        "other/qa.parquet",
    ]


@pytest.mark.parametrize("exchanges", [True, False])
def test_export_replaces_an_earlier_one(full_run, tmp_path, monkeypatch, exchanges):
    def nested(full_run, folder):
        (folder / "part").mkdir()
        for sample in full_run.samples:
            (folder / "part" / f"{sample.id}.txt").write_text(sample.question)
        (folder / "index.txt").write_text("whole")

    def refuse(first, second):
        raise OSError(38, "Function not implemented")

    row = replace(AUTORAG[0], write=nested, files=("part", "*.txt"), last="index.txt")
    write_set(full_run, [row], tmp_path / "out")
    (tmp_path / "out" / ".index.txt.x1.groundset-part").write_text("left by a killed process")
    if not exchanges:
        monkeypatch.setattr("groundset.folders._exchange", refuse)
    write_set(full_run.replace(samples=full_run.samples[:1]), [row], tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == ["index.txt", "part", "q-1.txt"]


def test_formats_need_distinct_folders(full_run, tmp_path):
    (tmp_path / "csv").mkdir()
    (tmp_path / "ragas").symlink_to("csv")
    with pytest.raises(InputError, match="the same folder"):
        write_set(full_run, [EXPORTS["csv"], EXPORTS["ragas"]], tmp_path)


DYING = """import os, sys
from datetime import UTC, datetime
from pathlib import Path
from groundset import folders
from groundset.sets.exports import EXPORTS
from groundset.run import Run
from groundset.sets.exporting import write_set
from programs.types import Chunk, Document, Retrieval, Sample

out, exchanges = Path(sys.argv[1]), sys.argv[2] == "yes"
steps = 0

def dying(step):
    def counted(*arguments, **options):
        global steps
        steps += 1
        if steps == dies_at:
            os._exit(9)
        return step(*arguments, **options)
    return counted

def refuse(first, second):
    raise OSError(38, "Function not implemented")

os.rename, os.replace, os.unlink = dying(os.rename), dying(os.replace), dying(os.unlink)
folders._exchange = dying(folders._exchange) if exchanges else refuse
def export(name):
    chunk = Chunk(chunk_id=name, doc_id=name, path="a.md", title="A", start=0, end=1, text="a")
    sample = Sample(id=name, question="Q?", answer="a", evolution="simple", language="en", contexts=(chunk,),
        retrieval_gt=((name,),), retrieval=Retrieval(rank=1, retrieved_id=name, retrieved_content="a", score=1),
        probability=1, trail=())
    document = Document(doc_id=name, path="a.md", title="A", text="a")
    started = datetime(2026, 1, 1, tzinfo=UTC)
    full_run = Run.of(samples=[sample], chunks=[chunk], documents=[document], started=started)
    write_set(full_run, [EXPORTS["autorag"]], out)

for line in sys.stdin:
    name, dies_at = line.split()
    dies_at, child = int(dies_at), os.fork()  # so that the libraries are imported once
    if not child:
        status = 1
        try:
            export(name)
            status = 0
        finally:
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def exported(out: Path) -> set[str]:
    """Return the names of the exports that the tables of a folder come from; nothing where there are no questions."""
    tables = [("qa.parquet", "qid"), ("corpus.parquet", "doc_id")]
    if not (out / "qa.parquet").exists():
        return set()
    return {name for table, key in tables for name in pd.read_parquet(out / table)[key]}


@pytest.mark.parametrize("exchanges", ["yes", "no"])
@pytest.mark.parametrize("before", [set(), {"old"}])
def test_killed_export_never_mixes_files(tmp_path, before, exchanges):
    def export(name: str, dies_at: int) -> int:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{name} {dies_at}\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    out, saved = tmp_path / "made" / "autorag", tmp_path / "saved"
    seen, status, dies_at = [], 9, 0
    command = [sys.executable, "-c", DYING, str(out), exchanges]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if before:
            assert export("old", 0) == 0
            out.rename(saved)
        while status == 9:
            dies_at += 1
            shutil.rmtree(out, ignore_errors=True)
            if before:
                shutil.copytree(saved, out)
            status = export("new", dies_at)
            seen.append(exported(out))
        assert process.stdin
        process.stdin.close()
    assert (status, seen[-1]) == (0, {"new"})
    assert [path.name for path in out.parent.iterdir()] == ["autorag"], "what killed ones left is gone"
    # Where folders cannot change places, there are no questions for a moment; never those of the other corpus.
    allowed = [before, {"new"}] if exchanges == "yes" else [before, {"new"}, set()]
    assert all(each in allowed for each in seen)
    assert before in seen
