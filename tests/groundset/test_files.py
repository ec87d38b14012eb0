"""Atomic writing of files and folders, what killed processes leave, and several that write the
same.
"""

import errno
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from refusal import refuses

from groundset import files
from groundset.files import (
    data_path,
    is_leftover,
    remove_leftovers,
    whole_file,
    whole_folder,
    working_folder,
    write_rows,
    write_text,
)
from groundset.programs.errors import InputError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def write_folder(target, **texts):
    with whole_folder(target, last="z") as folder:
        for name, text in texts.items():
            (folder / name).write_text(text)


def failing(error):
    yield {"half": 1}
    raise error


def test_results_are_created_with_parents_and_default_mode(tmp_path):
    target, folder = tmp_path / "new" / "rows.jsonl", tmp_path / "deep" / "out"
    write_rows(target, [{"text": "größer\r\n"}, {"name": "\udcff"}])
    first, second = target.read_text("utf-8").split("\n")[:2]
    assert json.loads(first) == {"text": "größer\r\n"}
    assert second == '{"name": "\\udcff"}'
    write_folder(folder, a="1", z="2")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "file").touch()
    for path, plain in ((target, "plain/file"), (folder, "plain"), (folder / "a", "plain/file")):
        assert path.stat().st_mode == (tmp_path / plain).stat().st_mode
    assert names(target.parent) == ["rows.jsonl"]
    assert names(folder.parent) == ["out"]
    assert data_path("samples").name == "samples"


def test_failed_write_leaves_the_folder_unchanged(tmp_path):
    target = tmp_path / "a.txt"
    with refuses(r"cannot write .*a\.txt: No space left"):
        write_rows(target, failing(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    with pytest.raises(KeyError):
        write_rows(target, failing(KeyError("x")))
    assert contents(tmp_path) == {}


def test_unwritable_targets_are_rejected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    Path("file").touch()
    Path("loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for target, reason in (
            (".", "it is a folder"),
            ("file/b.txt", ".*file is a file, not a folder"),
            ("socket", "it is no file; - is standard output"),
            ("loop", "Too many levels of symbolic links"),
            ("/proc/none.txt", ".+"),
            ("/dev/full", "it is no file; - is standard output"),
        ):
            with refuses(f"cannot write {target}: {reason}"):
                write_text(Path(target), "x")
    with refuses(r"cannot write .*out: (Not a directory|File exists)"):
        write_folder(Path("file/out"), a="1")
    if os.geteuid():
        tmp_path.chmod(0o500)
        with refuses(r"cannot write b\.txt: Permission denied"):
            write_text(Path("b.txt"), "x")


@pytest.mark.parametrize("where", ["pipe", "file"])
def test_standard_output_receives_the_text(tmp_path, where):
    code = (
        "import sys\nfrom pathlib import Path\nfrom groundset.files import write_text\n"
        "print('first')\nwrite_text(Path(sys.argv[1]), 'größer\\n')\nprint('last')\n"
    )
    kept = tmp_path / "kept"
    with kept.open("wb") as file:
        stdout = file if where == "file" else subprocess.PIPE
        ran = subprocess.run(
            [sys.executable, "-c", code, "-"], stdout=stdout, check=True, cwd=tmp_path
        )
    output = kept.read_bytes() if where == "file" else ran.stdout
    assert output.decode() == "first\ngrößer\nlast\n"
    assert names(tmp_path) == ["kept"]


def test_failed_write_leaves_the_stream_empty(capsys):
    with pytest.raises(KeyError):
        write_rows(Path("-"), failing(KeyError("x")))
    assert capsys.readouterr().out == ""


def test_links_are_kept_and_their_targets_replaced(tmp_path):
    write_text(tmp_path / "far" / "a.txt", "before")
    for link, target in (("file", "far/a.txt"), ("ahead", "far/new.txt"), ("folder", "real")):
        (tmp_path / link).symlink_to(target)
    with pytest.raises(KeyError):
        write_rows(tmp_path / "file", failing(KeyError("x")))
    assert contents(tmp_path / "far") == {"a.txt": "before"}
    write_text(tmp_path / "file", "after")
    write_text(tmp_path / "ahead", "new")
    (tmp_path / "real").mkdir()
    write_folder(tmp_path / "folder", z="new")
    assert all((tmp_path / link).is_symlink() for link in ("file", "ahead", "folder"))
    assert contents(tmp_path / "far") == {"a.txt": "after", "new.txt": "new"}
    assert contents(tmp_path / "real") == {"z": "new"}
    with whole_file(tmp_path / "file", follow=False) as aside:
        aside.write_text("instead")
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "far" / "a.txt").read_text() == "after"


def test_an_empty_folder_is_filled(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir(mode=0o750)
    monkeypatch.chdir(out)
    before = out.stat()
    write_folder(Path(), a="new", z="new")
    assert contents(Path()) == {"a": "new", "z": "new"}
    assert names(tmp_path) == ["out"]
    assert (out.stat().st_ino, out.stat().st_mode) == (before.st_ino, before.st_mode)


def test_names_of_maximum_length(tmp_path):
    name = "n" * 255
    write_folder(tmp_path / name, z="1")
    write_text(tmp_path / name / name, "x")
    assert (tmp_path / name / name).read_text() == "x"


class FillingDisk:
    """A disk that is full at the n-th write or sync."""

    def __init__(self, monkeypatch):
        self.left = 10**9
        disk, fsync = self, os.fsync

        class File(io.FileIO):
            def write(self, data):
                disk.use()
                return super().write(data)

        def open_(path, mode="r", **options):
            if "w" not in mode:
                return io.open(path, mode, **options)  # noqa: UP020 - what the tests replace is Path.open
            stream = io.BufferedWriter(File(path, "w"))
            return stream if "b" in mode else io.TextIOWrapper(stream, **options)

        monkeypatch.setattr(Path, "open", open_)
        monkeypatch.setattr(os, "fsync", lambda handle: (disk.use(), fsync(handle)))

    def use(self):
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def rows(folder, word):
    write_rows(folder / "a.jsonl", ({"number": number, "text": word * 900} for number in range(40)))


def two_tables(folder, word):
    with whole_folder(folder / "out", last="b") as aside:
        for name in ("a", "b"):
            with (aside / name).open("w", encoding="utf-8") as stream:
                stream.write(word * 9_000)


@pytest.mark.parametrize("write", [rows, two_tables])
def test_disk_full_at_any_write_keeps_previous_files(write, tmp_path, monkeypatch):
    disk = FillingDisk(monkeypatch)
    write(tmp_path, "before")
    before, fails = contents(tmp_path), 0
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


BEGIN = "import os, sys\nfrom pathlib import Path\nfrom groundset import files\n"
WAIT = "    print('working', flush=True)\n    sys.stdin.read()\n"
FILE = f"{BEGIN}with files.whole_text(Path(sys.argv[1])) as stream:\n    stream.write('1')\n{WAIT}"
FOLDER = (
    f"{BEGIN}with files.whole_folder(Path(sys.argv[1]), last='z') as f:\n    (f /"
    f" 'z').write_text('1')\n{WAIT}"
)


@contextmanager
def writer_process(code, target):
    """Start a process that writes a target and finishes when its standard input is closed."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", code, str(target)], stdin=pipe, stdout=pipe, text=True
    ) as process:
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
    assert process.returncode == 0
    assert contents(tmp_path) == {"a.txt": "1"}


def test_folder_written_by_another_process_is_rejected(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with writer_process(FOLDER, out) as process:
        with refuses(r"cannot write .*out: another process is writing it; wait"):
            write_folder(out, z="2")
        write_folder(tmp_path / "other", z="2")
        process.communicate("")
    assert process.returncode == 0
    assert contents(tmp_path) == {"other/z": "2", "out/z": "1"}


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


@pytest.mark.parametrize("is_there", [False, True])
def test_killed_writer_never_leaves_what_is_moved_last_alone(tmp_path, is_there):
    new, seen, status, dies_at = {"a": "new", "z": "new"}, [], 9, 0
    out = tmp_path / "made" / "out"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", DYING, str(out)], **pipes) as process:
        while status == 9:
            dies_at += 1
            shutil.rmtree(out, ignore_errors=True)
            if is_there:
                out.mkdir(parents=True)
            process.stdin.write(f"{dies_at}\n")
            process.stdin.flush()
            status = int(process.stdout.readline())
            found = out.iterdir() if out.exists() else ()
            seen.append(
                {path.name: path.read_text() for path in found if not is_leftover(path.name)}
            )
        process.stdin.close()
    assert status == 0
    assert seen[-1] == new
    assert names(out.parent) == ["out"], "what killed ones left is gone"
    assert all(each == new or "z" not in each for each in seen)
    assert {} in seen
