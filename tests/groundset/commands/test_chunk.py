import json
from pathlib import Path
from typing import get_args

import pytest

from groundset.commands import chunk as command
from groundset.corpus.chunkers import CHUNKERS
from groundset.options import ChunkerName

ARTICLE = "# Ferry\n\n" + "The ferry leaves Tollvik at nine. It reaches Osthavn at ten. " * 40


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "ferry.md").write_text(ARTICLE, encoding="utf-8")
    (folder / "empty.txt").write_text("", encoding="utf-8")
    return folder


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_chunk_offsets_match_the_documents(run, docs, tmp_path):
    out = tmp_path / "chunks.jsonl"
    ran = run("chunk", docs, "--out", out, "--chunk-size", 400, "--min-length", 50)
    assert ran.status == 0
    texts = {row["doc_id"]: row["text"] for row in read(tmp_path / "chunks.docs.jsonl")}
    chunks = read(out)
    assert chunks
    for chunk in chunks:
        assert chunk["text"] == texts[chunk["doc_id"]][chunk["start"] : chunk["end"]]
        assert 50 <= len(chunk["text"]) <= 400
    assert f"{len(chunks)} chunks from 1 documents" in ran.out
    assert f"Chunks: {out}. Document texts: {tmp_path / 'chunks.docs.jsonl'}." in ran.out
    assert ran.err.startswith("Skipped empty.txt: ")


def test_wrong_input(run, docs, tmp_path):
    out = tmp_path / "chunks.jsonl"
    cases = [
        ([tmp_path / "nowhere"], "nowhere"),
        ([docs, "--chunk-size", 100, "--chunk-overlap", 100], "--chunk-overlap 100: must be smaller"),
        ([docs, "--chunk-size", 0], "--chunk-size"),
        ([docs, "--chunker", "magic"], "--chunker"),
        ([docs, "--min-length", 100000], "no chunk is left"),
    ]
    for arguments, message in cases:
        ran = run("chunk", *arguments, "--out", out)
        assert ran.status == 2
        assert message in ran.err
        assert not out.exists()


def test_chunker_choices():
    assert get_args(ChunkerName) == tuple(CHUNKERS)


def test_defaults_match_the_corpus(run):
    ran = run("chunk", "--help")
    for chunker in CHUNKERS.values():
        assert f"{chunker.default_size} {chunker.unit}" in " ".join(ran.out.split())


def test_skipped_files_are_listed_up_to_a_limit(run, docs, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_NAMED_FILES", 2)
    for number in range(4):
        (docs / f"void{number}.txt").write_text("", encoding="utf-8")
    ran = run("chunk", docs, "--out", tmp_path / "chunks.jsonl")
    assert ran.err.count("Skipped") == 3
    assert ran.err.endswith("Skipped 3 more files.\n")


def test_chunks_on_standard_output(run, docs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    ran = run("chunk", docs, "--out", "-")
    assert ran.status == 0
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert rows
    assert all(row["text"] for row in rows)
    assert f"{len(rows)} chunks from 1 documents" in ran.err
    assert "Chunks: standard output. Document texts: not written" in ran.err
    assert sorted(tmp_path.iterdir()) == before


def test_output_to_a_device(run, docs):
    ran = run("chunk", docs, "--out", "/dev/null")
    assert ran.status == 0
    assert "Chunks: /dev/null. Document texts: not written" in ran.out
    assert Path("/dev/null").is_char_device()
    assert not Path("/dev/null.docs.jsonl").exists()


def test_other_suffixes_are_refused(run, docs, tmp_path):
    for name in ("chunks.csv", "chunks.parquet", "chunks"):
        ran = run("chunk", docs, "--out", tmp_path / name)
        assert (ran.status, ran.err.count("\n")) == (2, 1)
        assert f"--out {tmp_path / name}: " in ran.err
        assert not (tmp_path / name).exists()


def test_target_folders(run, docs, tmp_path):
    folder = tmp_path / "folder.jsonl"
    folder.mkdir()
    ran = run("chunk", docs, "--out", folder)
    assert (ran.status, f"cannot write {folder}: it is a folder" in ran.err) == (2, True)
    assert run("chunk", docs, "--out", tmp_path / "new" / "er" / "a.jsonl").status == 0
    assert sorted(path.name for path in (tmp_path / "new" / "er").iterdir()) == ["a.docs.jsonl", "a.jsonl"]


OWN = {"doc_id": "d", "contents": "The ferry leaves Tollvik at nine."}


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"doc_id": "d", "contents": "Tollvik."}, "d"),
        ({"doc_id": "d", "text": "Tollvik."}, "d"),
        ({"chunk_id": "c", "doc_id": "d", "text": "Tollvik."}, "c"),
    ],
)
def test_user_supplied_chunks(run, tmp_path, row, name):
    file, out = tmp_path / "own.jsonl", tmp_path / "out.jsonl"
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert run("chunk", file, "--out", out).status == 0
    assert [(chunk["chunk_id"], chunk["text"]) for chunk in read(out)] == [(name, "Tollvik.")]
    assert "contents or text" in " ".join(run("generate", "--help").out.split())


@pytest.fixture
def own(tmp_path):
    """A file of user-supplied chunks."""
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(OWN) + "\n", encoding="utf-8")
    return file


def test_inputs_are_not_replaced(run, docs, own, tmp_path):
    linked = tmp_path / "linked.jsonl"
    linked.symlink_to(docs / "ferry.md")
    texts = tmp_path / "a.docs.jsonl"
    texts.write_bytes(own.read_bytes())
    for inputs, out, kept in (
        ([own], own, own),
        ([docs], linked, docs / "ferry.md"),
        ([str(docs / "*.md")], linked, docs / "ferry.md"),
        ([texts], tmp_path / "a.jsonl", texts),
    ):
        before = kept.read_bytes()
        ran = run("chunk", *inputs, "--out", out)
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert "is an input; name another file" in ran.err
        assert kept.read_bytes() == before
    assert not (tmp_path / "a.jsonl").exists()


def test_earlier_output_beside_documents_is_replaced(run, docs):
    out = docs / "chunks.jsonl"
    for _ in range(2):
        assert run("chunk", docs, "--out", out).status == 0
    assert read(out)


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_replacing_an_input_is_confirmed(run, own, type_in, answer, status):
    before = own.read_bytes()
    type_in(answer)
    ran = run("chunk", own, "--out", own)
    assert ran.status == status
    assert f"{own} is an input. Replace it? [y/N]" in ran.err
    assert (own.read_bytes() == before) == bool(status)


@pytest.mark.model
@pytest.mark.parametrize("chunker", ["semantic", "token"])
def test_chunkers_with_an_embedder(run, docs, tmp_path, chunker):
    out = tmp_path / "chunks.jsonl"
    assert run("chunk", docs, "--out", out, "--chunker", chunker, "--chunk-size", 200).status == 0
    assert read(out)
