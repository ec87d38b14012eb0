"""Atomic writing and replacement of folders."""

import errno
import os
from pathlib import Path

import pytest

from groundset import folders
from groundset.folders import whole_folder
from programs.errors import InputError


def write(target: Path, **files: str) -> None:
    with whole_folder(target, last="z") as folder:
        for name, text in files.items():
            (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_folder_is_created_with_parents_and_default_mode(tmp_path):
    write(tmp_path / "new" / "out", a="1", z="2")
    assert contents(tmp_path / "new" / "out") == {"a": "1", "z": "2"}
    assert names(tmp_path / "new") == ["out"]
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "file").touch()
    assert (tmp_path / "new" / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "new" / "out" / "a").stat().st_mode == (tmp_path / "plain" / "file").stat().st_mode


@pytest.mark.parametrize("number", [None, errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.EBUSY])
def test_existing_folder_is_replaced_with_and_without_exchange(tmp_path, monkeypatch, number):
    def refuse(first: Path, second: Path) -> None:
        raise OSError(number, os.strerror(number))

    out = tmp_path / "out"
    write(out, a="old", z="old")
    out.chmod(0o750)
    (tmp_path / ".out.x.groundset-part").mkdir()
    (tmp_path / ".out.x.groundset-part" / "a").write_text("left by a killed process")
    if number:
        monkeypatch.setattr(folders, "_exchange", refuse)
    write(out, a="new", z="new")
    assert contents(out) == {"a": "new", "z": "new"}
    assert names(tmp_path) == ["out"]
    assert out.stat().st_mode & 0o777 == 0o750


def test_working_folder_keeps_its_inode(tmp_path, monkeypatch):
    write(tmp_path, a="old", z="old")
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    write(Path(), a="new", z="new")
    assert (contents(Path()), tmp_path.stat().st_ino) == ({"a": "new", "z": "new"}, before)


def test_link_to_a_folder_is_kept(tmp_path):
    write(tmp_path / "real", z="old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", z="new")
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "real") == {"z": "new"}


@pytest.mark.parametrize("fails", ["fsync", "_exchange"])
def test_failed_write_keeps_previous_folder(tmp_path, monkeypatch, fails):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "out"
    write(out, a="old")
    monkeypatch.setattr(os if fails == "fsync" else folders, fails, refuse)
    with pytest.raises(InputError, match=r"cannot write .*out: No space left on device"):
        write(out, a="new")
    assert (contents(out), names(tmp_path)) == ({"a": "old"}, ["out"])
    with pytest.raises(TypeError):
        write(out, a="new", b=None)
    assert (contents(out), names(tmp_path)) == ({"a": "old"}, ["out"])


def test_unwritable_folder_is_rejected(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write .*out: (Not a directory|File exists)"):
        write(tmp_path / "file" / "out", a="1")
