"""Atomic writing of files, and its errors."""

import errno
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from groundset.corpus.corpus import Corpus, Counts, write_chunks
from groundset.files import is_standard_output, is_stream, whole_file, write_rows, write_text
from groundset.folders import whole_folder
from groundset.working_folders import is_leftover
from programs.errors import InputError
from programs.types import Chunk, Document


def test_file_is_created_with_parents_and_default_mode(tmp_path: Path) -> None:
    target = tmp_path / "new" / "rows.jsonl"
    write_rows(target, [{"text": "größer\r\n"}, {"n": 1}])
    assert [json.loads(line) for line in target.read_bytes().splitlines()] == [{"text": "größer\r\n"}, {"n": 1}]
    assert "größer" in target.read_text(encoding="utf-8")
    plain = tmp_path / "plain"
    plain.touch()
    assert target.stat().st_mode == plain.stat().st_mode
    assert list(target.parent.iterdir()) == [target]


def failing(error: Exception) -> Iterator[dict[str, int]]:
    yield {"half": 1}
    raise error


@pytest.mark.parametrize("previous", [None, "before"])
@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            InputError,
            r"cannot write .*a\.txt: No space left on device",
        ),
        (KeyError("x"), KeyError, "x"),
    ],
)
def test_failed_write_leaves_the_folder_unchanged(
    tmp_path: Path, error: Exception, raised: type[Exception], message: str, previous: str | None
) -> None:
    target = tmp_path / "a.txt"
    if previous:
        write_text(target, previous)
    with pytest.raises(raised, match=message):
        write_rows(target, failing(error))
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ([previous] if previous else [])
    assert target.exists() == bool(previous)


def test_unwritable_targets_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder"):
        write_text(tmp_path, "x")
    write_text(tmp_path / "file", "x")
    with pytest.raises(InputError, match=r"cannot write .*b\.txt: .*file is a file, not a folder"):
        write_text(tmp_path / "file" / "b.txt", "x")
    if os.geteuid():
        tmp_path.chmod(0o500)
        with pytest.raises(InputError, match=r"cannot write .*b\.txt: Permission denied"):
            write_text(tmp_path / "b.txt", "x")


def test_pipe_receives_the_text(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    write_text(pipe, "größer\n")
    reader.join(10)
    assert got == ["größer\n"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_devices_are_written_directly(tmp_path: Path) -> None:
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    for target in (Path(os.devnull), null):
        write_text(target, "x")
        assert target.is_char_device()
    assert null.is_symlink()
    with pytest.raises(InputError, match="cannot write /dev/full: No space left on device"):
        write_text(Path("/dev/full"), "x")


def test_sockets_and_link_loops_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        with pytest.raises(InputError, match="cannot write socket: it is neither a file nor a stream"):
            write_text(Path("socket"), "x")
    assert Path("socket").is_socket()
    Path("loop").symlink_to("loop")
    with pytest.raises(InputError, match="cannot write loop: Too many levels of symbolic links"):
        write_text(Path("loop"), "x")


def test_link_is_kept_and_its_target_replaced(tmp_path: Path) -> None:
    file, link, ahead = tmp_path / "far" / "a.txt", tmp_path / "link", tmp_path / "ahead"
    write_text(file, "before")
    link.symlink_to(file)
    with pytest.raises(KeyError):
        write_rows(link, failing(KeyError("x")))
    assert file.read_text(encoding="utf-8") == "before"
    write_text(link, "after")
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == "after"
    ahead.symlink_to(tmp_path / "far" / "new.txt")
    write_text(ahead, "new")
    assert (tmp_path / "far" / "new.txt").read_text(encoding="utf-8") == "new"
    assert sorted(path.name for path in file.parent.iterdir()) == ["a.txt", "new.txt"]


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
@pytest.mark.parametrize("where", ["pipe", "file"])
def test_standard_output_receives_the_text(tmp_path: Path, name: str, where: str) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom groundset.files import write_text\n"
        "print('first')\nwrite_text(Path(sys.argv[1]), 'größer\\n')\nprint('last')\n"
    )
    kept = tmp_path / "kept"
    with kept.open("wb") as file:
        stdout = file if where == "file" else subprocess.PIPE
        ran = subprocess.run([sys.executable, "-c", code, name], stdout=stdout, check=True, cwd=tmp_path)
    output = kept.read_bytes() if where == "file" else ran.stdout
    assert output.decode() == "first\ngrößer\nlast\n"
    assert list(tmp_path.iterdir()) == [kept]


def test_failed_write_leaves_the_stream_empty(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError):
        write_rows(Path("-"), failing(KeyError("x")))
    assert capsys.readouterr().out == ""


def test_ordinary_paths_are_not_streams(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.touch()
    for path in (file, tmp_path, tmp_path / "none", file / "below"):
        assert not is_stream(path)
        assert not is_standard_output(path)


def test_killed_write_leaves_only_a_recognised_leftover(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom groundset.files import whole_text\n"
        "with whole_text(Path(sys.argv[1])) as stream:\n"
        "    stream.write('half')\n    os.kill(os.getpid(), 9)\n"
    )
    target = tmp_path / "a.txt"
    ran = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert ran.returncode == -signal.SIGKILL
    assert not target.exists()
    assert [is_leftover(path.name) for path in tmp_path.iterdir()] == [True]


class FillingDisk:
    """A disk that is full at the n-th write, of which half is stored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 10**9
        self.full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        disk, fsync = self, os.fsync

        class File(io.FileIO):
            def write(self, data: Any) -> int:
                if disk.fills():
                    super().write(bytes(data)[: len(data) // 2])
                    raise disk.full
                return super().write(data)

        def open_(path: Path, mode: str = "r", **options: Any) -> Any:
            if "w" not in mode:
                return io.open(path, mode, **options)  # noqa: UP020 - what the tests replace is Path.open
            stream = io.BufferedWriter(File(path, "w"))
            return stream if "b" in mode else io.TextIOWrapper(stream, **options)

        def fsync_(handle: int) -> None:
            if disk.fills():
                raise disk.full
            fsync(handle)

        monkeypatch.setattr(Path, "open", open_)
        monkeypatch.setattr(os, "fsync", fsync_)

    def fills(self) -> bool:
        self.left -= 1
        return self.left == 0


def one_text(folder: Path, word: str) -> None:
    write_text(folder / "a.txt", f"{word} " * 20_000)


def rows(folder: Path, word: str) -> None:
    write_rows(folder / "a.jsonl", ({"number": number, "text": word * 900} for number in range(40)))


def raw_bytes(folder: Path, word: str) -> None:
    with whole_file(folder / "a.bin") as aside, aside.open("wb") as stream:
        for _ in range(5):
            stream.write(word.encode() * 3_000)


def two_tables(folder: Path, word: str) -> None:
    with whole_folder(folder / "out", last="b") as aside:
        for name in ("a", "b"):
            with (aside / name).open("w", encoding="utf-8") as stream:
                stream.write(word * 9_000)


@pytest.mark.parametrize("write", [one_text, rows, raw_bytes, two_tables])
def test_disk_full_at_any_write_keeps_previous_files(
    write: Callable[[Path, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FillingDisk(monkeypatch)
    write(tmp_path, "before")
    before = contents(tmp_path)
    assert before
    fails = 0
    while True:
        disk.left = fails + 1
        try:
            write(tmp_path, "after")
        except InputError as error:
            message = str(error)
        else:
            break
        fails += 1
        assert message.startswith("cannot write ")
        assert message.endswith(": No space left on device")
        assert contents(tmp_path) == before, f"at write {fails}"
    assert fails >= 2, "a write and an fsync"
    assert contents(tmp_path).keys() == before.keys()
    assert contents(tmp_path) != before


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_full_disk_does_not_mix_chunks_and_documents_of_two_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def corpus(word: str) -> Corpus:
        text = word * 9_000
        chunk = Chunk(chunk_id="d-0", doc_id="d", path="d.md", title="D", start=0, end=len(text), text=text)
        document = Document(doc_id="d", path="d.md", title="D", text=text)
        return Corpus(documents=(document,), chunks=(chunk,), counts=Counts(files=1, documents=1, chunks=1))

    disk = FillingDisk(monkeypatch)
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    write_chunks(corpus("before"), tmp_path / "c.jsonl")
    before = contents(tmp_path)
    assert sorted(before) == ["c.docs.jsonl", "c.jsonl"]
    for fails in range(1, 3):
        disk.left = fails
        with pytest.raises(InputError, match=r"cannot write .*\.jsonl: No space left on device"):
            write_chunks(corpus("after"), tmp_path / "c.jsonl")
        assert contents(tmp_path) == before
    disk.left = 100
    write_chunks(corpus("after"), tmp_path / "c.jsonl")
    assert disk.left == 98, "two writes in total"
