"""Working folders: locking by live processes, and removal of the leftovers of killed ones."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from groundset import working_folders
from groundset.files import write_text
from groundset.folders import whole_folder
from groundset.working_folders import is_leftover, remove_leftovers, working_folder
from programs.errors import InputError

BEGIN = "import sys\nfrom pathlib import Path\n"
WAIT = "    print('working', flush=True)\n    sys.stdin.read()\n"
FILE = (
    f"{BEGIN}from groundset.files import whole_text\nwith whole_text(Path(sys.argv[1])) as s:\n    s.write('1')\n{WAIT}"
)
FOLDER = f"{BEGIN}from groundset.folders import whole_folder\nwith whole_folder(Path(sys.argv[1]), last='z') as f:\n"
FOLDER += f"    (f / 'z').write_text('1')\n{WAIT}"


@contextmanager
def writer_process(code: str, target: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that writes a target and finishes when its standard input is closed."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code, str(target)], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "working\n"
        yield process


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_leftovers_of_a_killed_process_are_removed_by_the_next(tmp_path):
    for code, target in ((FILE, tmp_path / "a.txt"), (FOLDER, tmp_path / "out")):
        with writer_process(code, target) as process:
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert [is_leftover(name) for name in names(tmp_path)] == [True]
        write_text(tmp_path / "b.txt", "b")
        assert names(tmp_path) == ["b.txt"]
        (tmp_path / "b.txt").unlink()


def test_last_of_concurrent_file_writes_wins(tmp_path):
    with writer_process(FILE, tmp_path / "a.txt") as process:
        write_text(tmp_path / "a.txt", "2")
        write_text(tmp_path / "b.txt", "b")
        assert (tmp_path / "a.txt").read_text() == "2"
    assert process.returncode == 0
    assert (tmp_path / "a.txt").read_text() == "1"
    assert sorted(names(tmp_path)) == ["a.txt", "b.txt"]


def write_folder(target: Path) -> None:
    with whole_folder(target, last="z") as folder:
        (folder / "z").write_text("2")


@pytest.mark.parametrize("exists", [False, True], ids=["new", "replaced"])
def test_folder_written_by_another_process_is_rejected(tmp_path, exists):
    out = tmp_path / "out"
    if exists:
        write_folder(out)
    with writer_process(FOLDER, out) as process:
        with pytest.raises(InputError, match=r"cannot write .*out: another process is writing it; wait"):
            write_folder(out)
        write_folder(tmp_path / "other")
        process.communicate("")
    assert (process.returncode, (out / "z").read_text()) == (0, "1")
    assert sorted(names(tmp_path)) == ["other", "out"]
    write_folder(out)
    assert (out / "z").read_text() == "2"


def test_target_names_of_maximum_length(tmp_path):
    name = "n" * 255
    write_folder(tmp_path / name)
    write_text(tmp_path / name / name, "x")
    assert (tmp_path / name / name).read_text() == "x"


def test_old_leftovers_are_removed_without_following_links(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    place = tmp_path / "place"
    place.mkdir()
    (place / ".a.x.groundset-part").touch()
    (place / ".out.x.groundset-part").mkdir()
    (place / ".link.groundset-part").symlink_to(kept)
    trap = place / ".trap.groundset-part"
    trap.mkdir()
    (trap / "owner.lock").symlink_to(kept / "file")
    (place / "mine").touch()
    remove_leftovers(place)
    assert "mine" in names(place)
    assert not set(names(place)) - {"mine", trap.name}
    assert names(kept) == ["file"]


@pytest.mark.parametrize("target", [None, "out"])
def test_folder_removed_before_locking_is_recreated(tmp_path, monkeypatch, target):
    class Locked(working_folders.FileLock):
        tried = 0

        def acquire(self, *arguments, **options):
            Locked.tried += 1
            if Locked.tried == 1:
                Path(self.lock_file).parent.rmdir()
            return super().acquire(*arguments, **options)

    monkeypatch.setattr(working_folders, "FileLock", Locked)
    with working_folder(tmp_path, target) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        remove_leftovers(tmp_path)
        assert folder.is_dir()
    assert names(tmp_path) == []


DYING = f"""{BEGIN}import os
from groundset import folders

put, done = folders._put, 0

def dying(*arguments):
    global done
    if done == int(sys.argv[2]):
        os._exit(9)
    put(*arguments)
    done += 1

folders._put = dying
with folders.whole_folders({{Path(sys.argv[1], name): "z" for name in "ab"}}) as asides:
    for aside in asides:
        (aside / "y").write_text("new")
        (aside / "z").write_text("new")
"""


@pytest.mark.parametrize("place", [0, 1])
def test_several_folders_are_each_complete_after_a_kill(tmp_path, place):
    for name in "ab":
        with whole_folder(tmp_path / name, last="z") as folder:
            for file in "yz":
                (folder / file).write_text("old")
    subprocess.run([sys.executable, "-c", DYING, str(tmp_path), str(place)], check=False)
    held = [{(tmp_path / name / file).read_text() for file in "yz"} for name in "ab"]
    assert held == [{"new"}, {"old"}] if place else [{"old"}, {"old"}]
    write_text(tmp_path / "c", "")
    assert sorted(names(tmp_path)) == ["a", "b", "c"]
