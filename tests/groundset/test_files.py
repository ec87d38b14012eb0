"""Files appear whole or not at all, and what went wrong is said in one line."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundset.files import is_leftover, write_rows, write_text
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
