"""Files appear whole or not at all, and what went wrong is said in one line."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundset.files import is_leftover, is_standard_output, is_stream, write_rows, write_text
from programs.errors import InputError


def test_a_file_is_made_with_its_folder_and_is_an_ordinary_one(tmp_path: Path) -> None:
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


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_text(target, "before")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(InputError, match=r"cannot write .*a\.txt: No space left on device"):
        write_rows(target, failing(full))
    assert target.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_any_other_error_goes_through_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        write_rows(tmp_path / "a.txt", failing(KeyError("x")))
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder"):
        write_text(tmp_path, "x")
    write_text(tmp_path / "file", "x")
    with pytest.raises(InputError, match=r"cannot write .*b\.txt: (Not a directory|File exists)"):
        write_text(tmp_path / "file" / "b.txt", "x")
    if os.geteuid():
        tmp_path.chmod(0o500)
        with pytest.raises(InputError, match=r"cannot write .*b\.txt: Permission denied"):
            write_text(tmp_path / "b.txt", "x")


def test_a_pipe_gets_the_text_and_stays(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    write_text(pipe, "größer\n")
    reader.join(10)
    assert got == ["größer\n"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_devices_are_written_into(tmp_path: Path) -> None:
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    for target in (Path(os.devnull), null):
        write_text(target, "x")
        assert target.is_char_device()
    assert null.is_symlink()
    with pytest.raises(InputError, match="cannot write /dev/full: No space left on device"):
        write_text(Path("/dev/full"), "x")


def test_what_is_neither_a_file_nor_a_stream_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        with pytest.raises(InputError, match="cannot write socket: it is neither a file nor a stream"):
            write_text(Path("socket"), "x")
    assert Path("socket").is_socket()
    Path("loop").symlink_to("loop")
    with pytest.raises(InputError, match="cannot write loop: Too many levels of symbolic links"):
        write_text(Path("loop"), "x")


def test_a_link_stays_and_its_file_is_replaced_whole(tmp_path: Path) -> None:
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
def test_standard_output_gets_the_text_wherever_it_leads(tmp_path: Path, name: str, where: str) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom groundset.files import write_text\n"
        "print('first')\nwrite_text(Path(sys.argv[1]), 'größer\\n')\nprint('last')\n"
    )
    kept = tmp_path / "kept"
    with kept.open("wb") as file:
        stdout = file if where == "file" else subprocess.PIPE
        ran = subprocess.run([sys.executable, "-c", code, name], stdout=stdout, check=True, cwd=tmp_path)
    told = kept.read_bytes() if where == "file" else ran.stdout
    assert told.decode() == "first\ngrößer\nlast\n"
    assert list(tmp_path.iterdir()) == [kept]


def test_an_error_keeps_a_stream_empty(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError):
        write_rows(Path("-"), failing(KeyError("x")))
    assert capsys.readouterr().out == ""


def test_ordinary_files_are_no_streams(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.touch()
    for path in (file, tmp_path, tmp_path / "none", file / "below"):
        assert not is_stream(path)
        assert not is_standard_output(path)


def test_a_kill_leaves_only_what_is_known_for_a_leftover(tmp_path: Path) -> None:
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
