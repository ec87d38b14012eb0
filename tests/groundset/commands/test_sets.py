"""The commands sample, split, drop, relabel and update."""

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loaded_run import loaded_run
from scripted_run import Encoder, generate, write_documents

from groundset.retrieval import embedder
from groundset.run import Run, save_run
from groundset.store.run_store import RunStore
from programs.types import Chunk, Document

RunCommand = Callable[..., Any]
COMMANDS = {
    "sample": ("--size", 2),
    "split": ("--splits", "train=0.5,test=0.5"),
    "drop": ("--where", 'id == "q-1"'),
    "relabel": ("--critic", "head", "--compiled", "none"),
    "update": ("docs",),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run, in the working folder, beside documents that it does not rest on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(embedder, "load_embedder", Encoder)
    save_run(tmp_path / "run", loaded_run(), loaded_run().lineage("import"))
    write_documents(tmp_path / "docs", documents=1)
    return tmp_path / "run"


def test_sample_command(run: RunCommand, folder: Path) -> None:
    ran = run("sample", "run", "--size", 2, "--out", "some")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("Drew 2 of 4 samples, about 2 of 2 documents.\n2 samples")
    assert len(Run.loaded(Path("some")).samples) == 2
    ran = run("sample", "run", "--size", 9, "--out", "more")
    assert (ran.status, "--size 9: run holds 4 samples" in ran.err) == (2, True)


def test_split_command(run: RunCommand, folder: Path) -> None:
    ran = run("split", "run", "--splits", "train=0.5,test=0.5", "--out", "parts")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[:2] == [
        "Split train: 2 samples, 50.0 % (time 1 of 2, none 1 of 2).",
        "Split test: 2 samples, 50.0 % (time 1 of 2, none 1 of 2).",
    ]
    rows = [json.loads(line) for line in Path("parts/samples.jsonl").read_text().splitlines()]
    assert {row["split"] for row in rows} == {"train", "test"}


def test_drop_list_and_drop_commands(run: RunCommand, folder: Path) -> None:
    before = sorted(Path().rglob("*"))
    ran = run("drop", "run", "--where", 'kind == "time"', "--list")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "q-1  When does the ferry Henn leave Tollvik?",
        "q-3  When was the clock of Brenn cast?",
        "2 of 4 samples would be dropped.",
    ]
    assert sorted(Path().rglob("*")) == before
    assert run("drop", "run", "--where", 'kind == "time"', "--out", "rest").out.startswith("Dropped 2 of 4 samples.\n")
    shown = run("show", "rest", "--rejects", "--step", "drop")
    assert "When was the clock of Brenn cast?" in shown.out
    for options in ((), ("--list", "--out", "x")):
        ran = run("drop", "run", "--where", "split", *options)
        assert (ran.status, "either --out RUN or --list" in ran.err) == (2, True)


def test_control_characters_are_escaped(run: RunCommand, tmp_path: Path) -> None:
    first, *others = loaded_run().samples
    evil = first.model_copy(update={"question": "\x1b[2J\u2028<script>\nDropped q-9: What?"})
    made = loaded_run(samples=[evil, *others])
    save_run(tmp_path / "run", made, made.lineage("import"))
    ran = run("drop", tmp_path / "run", "--where", 'id == "q-1"', "--list")
    assert ran.out.splitlines()[0] == "q-1  \\u001b[2J\\u2028<script>\\nDropped q-9: What?"
    ran = run("drop", tmp_path / "run", "--where", "\x1b[2J\nkind", "--list")
    assert (ran.status, ran.err.count("\n"), "\x1b" in ran.err) == (2, 1, False)


def test_relabel_command(run: RunCommand, folder: Path) -> None:
    ran = run("relabel", "run", "--critic", "head", "--compiled", "none", "--keep", "--out", "judged")
    assert ran.status == 0
    assert ran.out.startswith("Judged 4 questions with head: ")
    after = Run.loaded(Path("judged"))
    assert all(sample.trail[0].output["fit"] == sample.probability for sample in after.samples)
    assert len({sample.probability for sample in after.samples}) > 1, "a real critic decided"
    for options, message in (
        (("--critic", "lm"), "--critic lm needs a language model (--lm)"),
        (("--critic", "coin"), "--critic coin: no such critic"),
        (("--critic", "head", "--compiled", "nowhere"), "--compiled nowhere: no such folder"),
    ):
        ran = run("relabel", "run", *options, "--out", "other")
        assert (ran.status, message in ran.err) == (2, True)
        assert not Path("other").exists()


def test_update_command(run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "load_embedder", Encoder)
    docs = write_documents(tmp_path / "docs")
    generate(docs, tmp_path / "run", size=6, parser="none")
    before = Run.loaded(tmp_path / "run").samples
    gone = before[0].contexts[0].path
    (docs / gone).unlink()
    lost = [sample for sample in before if sample.contexts[0].path == gone]
    ran = run("update", tmp_path / "run", docs, "--out", tmp_path / "now")
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert lines[0] == "Documents: 4 unchanged, 0 renamed, 0 changed, 0 new, 1 gone."
    assert lines[1].startswith(f"Kept {6 - len(lost)} of 6 samples;")
    assert lines[2 : 2 + len(lost)] == [
        f"Dropped {sample.id} (document gone: {gone}): {sample.question}" for sample in lost
    ]
    ran = run("update", tmp_path / "run", docs, "--out", tmp_path / "again", "--json")
    document = json.loads(ran.out)
    assert document["documents"] == {"unchanged": 4, "renamed": 0, "changed": 0, "new": 0, "gone": 1}
    assert (document["kept"], document["cut_anew"]) == (6 - len(lost), 0)
    assert document["dropped"] == [
        {"id": sample.id, "question": sample.question, "reason": f"document gone: {gone}"} for sample in lost
    ]


@pytest.mark.parametrize(("command", "options"), COMMANDS.items(), ids=COMMANDS)
def test_invalid_runs_and_targets(command: str, options: tuple[object, ...], run: RunCommand, folder: Path) -> None:
    empty = Path("empty")
    chunk = Chunk(chunk_id="c", doc_id="d", path="d.md", title="", start=0, end=1, text="A")
    document = Document(doc_id="d", path="d.md", title="", text="A")
    RunStore.create(empty, meta={}, documents=[document], chunks=[chunk]).close()
    Path("file").write_text("")
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine")
    for source, out, message in (
        ("docs", "new", "docs is not the folder of a run"),
        ("empty", "new", "the run in empty holds no samples"),
        ("run", "run", "--out run: holds a run already"),
        ("run", "full", "--out full: holds other files (notes.txt)"),
        ("run", "file/new", "--out file/new: "),
    ):
        ran = run(command, source, *options, "--out", out)
        assert (ran.status, ran.err.count("\n")) == (2, 1), ran.err
        assert ran.err.startswith(f"groundset: error: {message}")
    assert sorted(path.name for path in Path().iterdir()) == ["docs", "empty", "file", "full", "run"]
    assert [path.name for path in Path("full").iterdir()] == ["notes.txt"]


def test_run_with_one_sample(run: RunCommand, tmp_path: Path) -> None:
    one = loaded_run().only([0])
    save_run(tmp_path / "run", one, one.lineage("import"))
    assert run("sample", tmp_path / "run", "--size", 1, "--by", "kind", "--out", tmp_path / "some").status == 0
    assert run("split", tmp_path / "run", "--splits", "all=1", "--out", tmp_path / "parts").status == 0
    ran = run("split", tmp_path / "run", "--splits", "a=0.5,b=0.5", "--out", tmp_path / "two")
    assert (ran.status, "1 group for 2 splits" in ran.err) == (2, True)
    ran = run("drop", tmp_path / "run", "--where", "rank == 1", "--out", tmp_path / "none")
    assert (ran.status, "--where rank == 1: " in ran.err) == (2, True)


def test_transforms_do_not_change_the_run(run: RunCommand, folder: Path) -> None:
    def dump() -> list[str]:
        with sqlite3.connect(folder / "run.sqlite") as database:
            return list(database.iterdump())

    before, files = dump(), {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".sqlite"}
    for command, options in COMMANDS.items():
        run(command, "run", *options, "--out", command)
    assert dump() == before
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".sqlite"} == files


@pytest.mark.parametrize("command", ["sample", "split", "drop", "relabel", "merge", "export", "push", "report"])
def test_folder_names_that_are_not_utf8(run: RunCommand, folder: Path, command: str) -> None:
    odd, out, page = (folder.parent / os.fsdecode(name) for name in (b"caf\xe9", b"out\xe9", b"out\xe9.html"))
    folder.rename(odd)
    save_run(folder.parent / "other", loaded_run(), loaded_run().lineage("import"))
    options = {
        "merge": (odd, "other", "--out", out),
        "export": (odd, "--format", "autorag", "--out", out),
        "push": (odd, "--repo", "me/set", "--licence", "apache-2.0", "--dry-run", out),
        "report": (odd, "--out", page),
    }
    given = options[command] if command in options else (odd, *COMMANDS[command], "--out", out)
    ran = run(command, *given)
    assert ran.status == 0, ran.err
    assert out.exists() or page.exists()
