import json
from typing import get_args

import pytest

from groundset.cli import chunk as command
from groundset.cli.chunk import ChunkerChoice
from groundset.corpus import CHUNKERS

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


def test_chunks_index_into_the_document_texts(run, docs, tmp_path):
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


def test_wrong_input_writes_nothing(run, docs, tmp_path):
    out = tmp_path / "chunks.jsonl"
    cases = [
        ([tmp_path / "nowhere"], "nowhere"),
        ([docs, "--chunk-size", 100, "--chunk-overlap", 100], "the overlap (100) must be smaller"),
        ([docs, "--chunk-size", 0], "--chunk-size"),
        ([docs, "--chunker", "magic"], "--chunker"),
        ([docs, "--min-length", 100000], "no chunk is left"),
    ]
    for arguments, message in cases:
        ran = run("chunk", *arguments, "--out", out)
        assert ran.status == 2
        assert message in ran.err
        assert not out.exists()


def test_the_command_offers_every_chunker():
    assert get_args(ChunkerChoice) == tuple(CHUNKERS)


def test_defaults_are_those_of_the_corpus(run):
    ran = run("chunk", "--help")
    for chunker in CHUNKERS.values():
        assert f"{chunker.default_size} {chunker.unit}" in " ".join(ran.out.split())


def test_only_so_many_skipped_files_are_named(run, docs, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_NAMED_FILES", 2)
    for number in range(4):
        (docs / f"void{number}.txt").write_text("", encoding="utf-8")
    ran = run("chunk", docs, "--out", tmp_path / "chunks.jsonl")
    assert ran.err.count("Skipped") == 3
    assert ran.err.endswith("Skipped 3 more files.\n")


@pytest.mark.model
@pytest.mark.parametrize("chunker", ["semantic", "token"])
def test_chunkers_that_need_a_model_get_it(run, docs, tmp_path, chunker):
    out = tmp_path / "chunks.jsonl"
    assert run("chunk", docs, "--out", out, "--chunker", chunker, "--chunk-size", 200).status == 0
    assert read(out)
