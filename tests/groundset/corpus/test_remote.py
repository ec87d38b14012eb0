"""Documents and chunks behind URLs give the same corpus as local files with the same content."""

import json
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import fsspec
import pyarrow
import pytest
import storage_server
from pyarrow import parquet

from groundset.corpus import documents, remote
from groundset.corpus.corpus import Corpus, CorpusOptions, build_corpus
from groundset.corpus.parsing.formats import parse_file
from groundset.corpus.remote import RemoteFile, TooLargeError, copied, find_remote
from groundset.engine.identity import hash_sources
from groundset.sources import Url
from programs.errors import InputError

OPTIONS = CorpusOptions(min_length=50)


class InProcess:
    """Parses in this process, which saves the start of another in each test."""

    def __init__(self, *_: object) -> None:
        pass

    def __call__(self, request: dict[str, str], seconds: float) -> dict[str, Any]:
        return parse_file(request)

    def end(self) -> None:
        pass


@pytest.fixture(scope="module", autouse=True)
def in_process() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "BoundedProcess", InProcess)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("remote") / "docs"
    for number, name in enumerate(("a.md", "deep/b c.md", "deep/d&e.txt", "deep/.hidden/f.md", ".g.md", "h.xyz")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# Lock {number}\n\n" + f"Gate {number} of the canal opens at noon. " * 5)
    (folder / "empty.md").touch()
    return folder


@pytest.fixture(scope="module")
def corpus(folder: Path) -> Corpus:
    return build_corpus([folder], OPTIONS)


@pytest.fixture
def memory(folder: Path) -> Iterator[str]:
    storage = fsspec.filesystem("memory")
    storage.put(f"{folder}/", "/bucket/docs/", recursive=True)
    yield "memory://bucket"
    storage.rm("/bucket", recursive=True)


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch, egress: object) -> Iterator[storage_server.StorageServer]:
    with storage_server.serving() as server:
        for file in filter(Path.is_file, folder.rglob("*")):
            server.files[f"bucket/docs/{file.relative_to(folder).as_posix()}"] = file.read_bytes()
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
            monkeypatch.setenv(name, "us-east-1")
        monkeypatch.setattr(remote, "_PAUSES", (0, 0))
        yield server


@pytest.mark.parametrize("pattern", ["docs", "docs/**"])
def test_corpus_is_that_of_local_files(corpus: Corpus, folder: Path, memory: str, pattern: str) -> None:
    found = build_corpus([f"{memory}/{pattern}"], OPTIONS)
    assert (found.chunks, found.counts) == (corpus.chunks, corpus.counts)
    assert [file.model_dump() for file in found.skipped] == [file.model_dump() for file in corpus.skipped]
    assert {document.path for document in found.documents} == {"a.md", "deep/b c.md", "deep/d&e.txt"}
    assert hash_sources([Url(f"{memory}/{pattern}")]) == hash_sources([folder]), "the run can be continued from a copy"


def test_single_files_globs_and_file_urls(corpus: Corpus, folder: Path, memory: str) -> None:
    found = build_corpus([f"{memory}/docs/deep/*.md", folder.as_uri() + "/a.md"], OPTIONS)
    assert [document.path for document in found.documents] == ["a.md", "b c.md"]
    twice = build_corpus([f"{memory}/docs/a.md", f"{memory}/docs/*.md"], OPTIONS)
    assert [document.path for document in twice.documents] == ["a.md"]


@pytest.mark.parametrize("root", ["s3://bucket/docs", "hf://datasets/owner/name/bucket/docs"])
def test_storages(corpus: Corpus, server: storage_server.StorageServer, root: str) -> None:
    if root.startswith("s3"):
        pytest.importorskip("s3fs", reason="needs the extra `groundset[s3]`")
    assert build_corpus([root], OPTIONS).chunks == corpus.chunks
    before, requests = hash_sources([Url(root)]), len(server.asked)
    hash_sources([Url(root)])
    assert not any(asked.endswith("a.md") for asked in server.asked[requests:]), "its storage names the content"
    server.files["bucket/docs/a.md"] = b"# Lock 0\n\n" + b"Gate 0 of the canal opens at nine. " * 5
    assert hash_sources([Url(root)]) != before
    assert "at nine" in build_corpus([root], OPTIONS).chunks[0].text


def test_web_server(corpus: Corpus, server: storage_server.StorageServer) -> None:
    url = f"{server.url}/bucket/docs/a.md"
    server.cuts = [10]
    assert build_corpus([url], OPTIONS).chunks == corpus.chunks[:1], "a file that broke off is read again"
    assert server.asked.count("GET /bucket/docs/a.md") == 2
    server.cuts = [10, 10, 10]
    with pytest.raises(InputError, match=r"a\.md: cannot be read \(.*check the connection"):
        build_corpus([url], OPTIONS)
    with pytest.raises(InputError, match="web servers have no folders"):
        build_corpus([f"{server.url}/bucket/docs/"])


@pytest.mark.parametrize("status", [401, 403, 404, 500])
@pytest.mark.parametrize("root", ["{}/bucket/docs/a.md", "hf://datasets/owner/name/bucket/docs"])
def test_refusals_are_one_line(server: storage_server.StorageServer, status: int, root: str) -> None:
    server.status = status
    url = root.format(server.url)
    with pytest.raises(InputError) as refused:
        build_corpus([url])
    reason = {404: "no such bucket, folder or file", 500: "cannot be read"}.get(status, "no permission")
    assert str(refused.value).startswith(f"{url}: {reason}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://bucket/none", "memory://bucket/none: no such bucket, folder or file"),
        ("memory://bucket/docs/*.pdf", r"no file matches memory://bucket/docs/\*\.pdf"),
        ("nowhere://bucket/docs", r"nowhere://bucket/docs: cannot be read \(Protocol not known: nowhere\)"),
        ("http://127.0.0.1:9/a.md", r"http://127\.0\.0\.1:9/a\.md: cannot be read .*; check the connection"),
    ],
)
def test_wrong_urls(memory: str, url: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_corpus([url])


@pytest.mark.parametrize(("protocol", "extra"), [("s3", "s3"), ("gs", "gs")])
def test_missing_extra(monkeypatch: pytest.MonkeyPatch, protocol: str, extra: str) -> None:
    registry = import_module("fsspec.registry")
    monkeypatch.setitem(registry.known_implementations, protocol, {"class": "not_installed.X", "err": "absent"})
    monkeypatch.delitem(registry._registry, protocol, raising=False)
    with pytest.raises(InputError, match=rf"{protocol}://bucket/docs: needs another .*'groundset\[{extra}\]'"):
        build_corpus([f"{protocol}://bucket/docs"])


def test_offline_mode_of_the_hub(server: storage_server.StorageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    url = Url("hf://datasets/owner/name/bucket/docs/a.md")
    (found,) = find_remote(url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("groundset.privacy._taken_offline", False)
    with pytest.raises(InputError, match="offline"):
        find_remote(url)
    with copied(found.file, 1000) as copy:
        assert copy.read_bytes() == server.files["bucket/docs/a.md"], (
            "worker processes inherit the default of groundset"
        )


def test_large_files_are_not_copied(memory: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(documents, "MAX_FILE_MB", 0)
    with pytest.raises(InputError, match=r"a\.md: larger than"):
        build_corpus([f"{memory}/docs/a.md"])
    unsized = RemoteFile(Url(f"{memory}/docs/a.md"), "/bucket/docs/a.md")
    with pytest.raises(TooLargeError), copied(unsized, 10):
        pass
    with copied(unsized, 1000) as copy:
        assert copy.stat().st_size > 100
    assert not list(tmp_path.iterdir())


def test_copy_that_cannot_be_stored(memory: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"cannot be copied to .*none: No such file or directory; set TMPDIR"):
        build_corpus([f"{memory}/docs/a.md"])


def test_own_chunks(memory: str, tmp_path: Path) -> None:
    rows = [{"chunk_id": f"c{number}", "doc_id": "d", "text": f"Gate {number} opens."} for number in range(3)]
    lines = [json.dumps(row) + "\n" for row in rows]
    (tmp_path / "own-1.jsonl").write_text("".join(lines[:2]))
    (tmp_path / "own-2.jsonl").write_text(lines[2].replace('"d"', '"e"'))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "own.parquet")
    (tmp_path / "bad.jsonl").write_text('{"text": ""}\n')
    fsspec.filesystem("memory").put(f"{tmp_path}/", "/bucket/own/", recursive=True)
    for name in ("own-1.jsonl", "own.parquet", "own-*.jsonl"):
        found, local = build_corpus([f"{memory}/own/{name}"]), build_corpus([tmp_path / name])
        assert found.chunks == local.chunks
        assert hash_sources([Url(f"{memory}/own/{name}")]) == hash_sources([tmp_path / name])
    assert [chunk.chunk_id for chunk in found.chunks] == ["c0", "c1", "c2"]
    with pytest.raises(InputError, match=r"^memory://bucket/own/bad\.jsonl, line 1"):
        build_corpus([f"{memory}/own/bad.jsonl"])


def test_unchanged_documents_are_not_read_again(
    server: storage_server.StorageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("s3fs", reason="needs the extra `groundset[s3]`")
    parsed: list[str] = []

    class Recorded(InProcess):
        def __call__(self, request: dict[str, str], seconds: float) -> dict[str, Any]:
            parsed.append(Path(request["path"]).read_text(encoding="utf-8"))
            return super().__call__(request, seconds)

    monkeypatch.setattr(documents, "BoundedProcess", Recorded)
    for name, text in {"a.md": "The lamp. " * 20, "b.md": "The quay. " * 20}.items():
        (tmp_path / name).write_text(text)
        server.files[f"bucket/few/{name}"] = text.encode()
    for root in (str(tmp_path), "s3://bucket/few"):
        before = build_corpus([root], OPTIONS)
        changed = "The bridge. " * 20
        (tmp_path / "a.md").write_text(changed)
        server.files["bucket/few/a.md"] = changed.encode()
        parsed.clear()
        server.asked.clear()
        after = build_corpus([root], OPTIONS, known=before.documents)
        assert parsed == [changed]
        assert "GET /bucket/few/b.md" not in server.asked
        assert after == build_corpus([root], OPTIONS)
        (tmp_path / "a.md").write_text("The lamp. " * 20)
        server.files["bucket/few/a.md"] = b"The lamp. " * 20
    documents._parsers_digest.cache_clear()
    monkeypatch.setattr(documents, "__version__", "another")
    build_corpus([root], OPTIONS, known=before.documents)
    assert parsed.count("The quay. " * 20) == 2, "parsed without known documents, and by another version"
    documents._parsers_digest.cache_clear()


def test_times_of_storages() -> None:
    storage = fsspec.filesystem("memory")
    storage.pipe("/times/a.md", b"x")
    (found,) = find_remote(Url("memory://times/a.md"))
    assert found.file.modified is not None
    assert abs(found.file.modified.timestamp() - storage.created("/times/a.md").timestamp()) < 1
    storage.rm("/times", recursive=True)
