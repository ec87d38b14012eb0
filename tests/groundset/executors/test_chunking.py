"""The chunks of a corpus are the same on every executor."""

import random
from pathlib import Path

import pytest
import storage_server

from groundset.corpus import documents, duplicates
from groundset.corpus.corpus import Corpus, CorpusOptions, build_corpus
from groundset.data_files import data_path
from groundset.executors import LOCAL, Executor
from programs.errors import InputError

WORDS = ("ferry", "pier", "mill", "quay", "lamp", "keeper", "harbour", "stone", "bridge", "cattle", "rope", "barley")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our own documents, with copies that differ in a few words or numbers, and files that cannot be read."""
    folder = tmp_path_factory.mktemp("docs")
    rng = random.Random(4)
    for copy in range(3):
        for file in sorted(data_path("samples").rglob("*.md")):
            lines = file.read_text(encoding="utf-8").split(" ")
            for _ in range(copy * 2):
                lines[rng.randrange(len(lines))] = rng.choice([*WORDS, str(rng.randrange(99))])
            (folder / f"{file.stem}-{copy}.md").write_text(" ".join(lines), encoding="utf-8")
    for number in range(40):
        text = " ".join(rng.choice(WORDS) for _ in range(120))
        (folder / f"{number}.txt").write_text(f"{text}\n\n{text} again", encoding="utf-8")
    (folder / "copy.md").write_text((folder / "0.txt").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / "empty.md").touch()
    return folder


@pytest.fixture
def corpus(folder: Path) -> Corpus:
    return build_corpus([folder], CorpusOptions(chunk_size=400))


def test_corpus_is_the_same_on_every_executor(
    executor: Executor, folder: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_MB_PER_PROCESS", 0.01)
    monkeypatch.setattr(duplicates, "_CHARACTERS_OF_PART", 2_000)
    monkeypatch.setattr(duplicates, "_CHARACTERS_EACH", 10_000)
    paths: list[str] = []
    found = build_corpus([folder], CorpusOptions(chunk_size=400), executor=executor, on_file=paths.append)
    assert found == corpus
    assert found.counts.dropped_duplicates > 20
    assert found.counts.dropped_short > 0
    assert {file.path for file in found.skipped} >= {"copy.md", "damaged.pdf", "empty.md"}
    assert paths == sorted(paths)
    assert len(paths) == found.counts.files


def test_relative_paths_are_read_on_every_executor(
    executor: Executor, folder: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    assert build_corpus([folder.name], CorpusOptions(chunk_size=400), executor=executor).chunks == corpus.chunks


def test_urls_are_read_by_every_executor(executor: Executor, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MB_PER_PROCESS", 0.001)
    files = [folder / "1.txt", folder / "2.txt", folder / "damaged.pdf"]
    with storage_server.serving() as server:
        server.files |= {file.name: file.read_bytes() for file in files}
        found = build_corpus([f"{server.url}/{file.name}" for file in files], executor=executor)
        local = build_corpus(files)
        assert (found.chunks, found.skipped) == (local.chunks, local.skipped)
        del server.files["2.txt"]
        with pytest.raises(InputError, match=r"/2\.txt: no such"):
            build_corpus([f"{server.url}/2.txt"], executor=executor)


def test_file_that_a_node_does_not_see_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mill.md").write_text("The mill was built by two brothers in 1887. " * 10)

    class Cluster:
        is_local = False

        def map(self, operator, items, *, parts, most):
            def moved(item):
                found = item.found
                return item._replace(found=found._replace(file=tmp_path / "elsewhere" / found.file.name))

            return LOCAL.map(operator, map(moved, items), parts=1)

    with pytest.raises(InputError, match=r"mill\.md: not found by a node of the cluster; use a folder that all share"):
        build_corpus([tmp_path], executor=Cluster())
