"""What killed processes leave of files and folders, and processes that write the same at the same time."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from groundset import files
from groundset.files import is_leftover, remove_leftovers, whole_folder, working_folder, write_text
from programs.errors import InputError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write_folder(target: Path, **texts: str) -> None:
    with whole_folder(target, last="z") as folder:
        for name, text in texts.items():
            (folder / name).write_text(text)


BEGIN = "import os, sys\nfrom pathlib import Path\nfrom groundset import files\n"
WAIT = "    print('working', flush=True)\n    sys.stdin.read()\n"
FILE = f"{BEGIN}with files.whole_text(Path(sys.argv[1])) as stream:\n    stream.write('1')\n{WAIT}"
FOLDER = f"{BEGIN}with files.whole_folder(Path(sys.argv[1]), last='z') as f:\n    (f / 'z').write_text('1')\n{WAIT}"


@contextmanager
def writer_process(code: str, target: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that writes a target and finishes when its standard input is closed."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code, str(target)], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "working\n"
        yield process


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
        assert (tmp_path / "a.txt").read_text() == "2"
        process.communicate("")
    assert (process.returncode, contents(tmp_path)) == (0, {"a.txt": "1"})


def test_folder_written_by_another_process_is_rejected(tmp_path):
    out = tmp_path / "out"
    write_folder(out, z="0")
    with writer_process(FOLDER, out) as process:
        with pytest.raises(InputError, match=r"cannot write .*out: another process is writing it; wait"):
            write_folder(out, z="2")
        write_folder(tmp_path / "other", z="2")
        process.communicate("")
    assert (process.returncode, contents(tmp_path)) == (0, {"other/z": "2", "out/z": "1"})
    write_folder(out, z="2")
    assert contents(out) == {"z": "2"}


def test_leftovers_are_removed_without_following_links(tmp_path):
    kept, place = tmp_path / "kept", tmp_path / "place"
    write_text(kept / "file", "")
    (place / ".out.groundset-part").mkdir(parents=True)
    (place / ".link.groundset-part").symlink_to(kept)
    trap = place / ".trap.groundset-part"
    trap.mkdir()
    (trap / "owner.lock").symlink_to(kept / "file")
    (place / "mine").touch()
    remove_leftovers(place)
    assert {"mine"} <= set(names(place)) <= {"mine", trap.name, ".link.groundset-part"}
    assert names(kept) == ["file"]


@pytest.mark.parametrize("target", [None, "out"])
def test_folder_removed_before_locking_is_recreated(tmp_path, monkeypatch, target):
    class Locked(files.FileLock):
        tried = 0

        def acquire(self, *arguments, **options):
            Locked.tried += 1
            if Locked.tried == 1:
                Path(self.lock_file).parent.rmdir()
            return super().acquire(*arguments, **options)

    monkeypatch.setattr(files, "FileLock", Locked)
    with working_folder(tmp_path, target) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        remove_leftovers(tmp_path)
        assert folder.is_dir()
    assert names(tmp_path) == []


DYING = """import os, sys
from pathlib import Path
from groundset import files

out = Path(sys.argv[1])
steps = 0

def dying(step):
    def counted(*arguments, **options):
        global steps
        steps += 1
        if steps == dies_at:
            os._exit(9)
        return step(*arguments, **options)
    return counted

os.rename, os.replace, os.unlink = dying(os.rename), dying(os.replace), dying(os.unlink)
for line in sys.stdin:
    dies_at, child = int(line), os.fork()
    if not child:
        with files.whole_folder(out, last="z") as aside:
            (aside / "a").write_text("new")
            (aside / "z").write_text("new")
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.parametrize("before", [{}, {"a": "old", "z": "old"}])
def test_killed_writer_never_mixes_files(tmp_path, before):
    new, seen, status, dies_at = {"a": "new", "z": "new"}, [], 9, 0
    out = tmp_path / "made" / "out"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", DYING, str(out)], **pipes) as process:
        while status == 9:
            dies_at += 1
            shutil.rmtree(out, ignore_errors=True)
            for name, text in before.items():
                write_text(out / name, text)
            process.stdin.write(f"{dies_at}\n")
            process.stdin.flush()
            status = int(process.stdout.readline())
            found = out.iterdir() if out.exists() else ()
            seen.append({path.name: path.read_text() for path in found if not is_leftover(path.name)})
        process.stdin.close()
    assert (status, seen[-1], names(out.parent)) == (0, new, ["out"]), "what killed ones left is gone"
    assert all(each in (before, new) or "z" not in each for each in seen), "what is moved last is missing for a moment"
    assert before in seen
