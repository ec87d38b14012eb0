"""Network access of all commands and their child processes is limited to the hosts given by the user."""

import functools
import json
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import typer
from scripted_run import CRITICS, Encoder, scripted_recipe, write_documents

from groundset import commands
from groundset.compiling import resources
from groundset.data_files import data_path
from groundset.engine import making
from groundset.engine.models import Openers
from groundset.retrieval import embedder
from groundset.review.server import serving as serve_review
from groundset.review.session import ReviewSession
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore

HEAD = json.loads(data_path("compiled", "head", "judge.json").read_text(encoding="utf-8"))
SMALL = ("--size", 3, "--chunk-size", 300, "--min-length", 50, "--parser", "none", "--mode", "guided")
BY_SERVER = ("--optimizer", "labeled", "--budget", 24)
ROW = {"question": "When does the ferry leave?", "passage": "The ferry leaves Tollvik at nine."}


class Result(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    word_encoder: Callable[[str], Any],
) -> Callable[..., Result]:
    """Run a command with scripted embedders, critics and recipe program."""
    openers = Openers(None, Encoder, lambda spec, **parts: CRITICS)
    scripted = functools.partial(making.run_generation, openers=openers, recipe=scripted_recipe())
    monkeypatch.setattr(making, "run_generation", scripted)
    monkeypatch.setattr(resources, "load_embedder", lambda name: word_encoder(HEAD["model_sha256"]))
    monkeypatch.setattr(embedder, "load_embedder", Encoder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    for variable in ("OPENAI_API_BASE", "OPENAI_BASE_URL", "GROUNDSET_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.chdir(tmp_path)
    write_documents(tmp_path / "docs")
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW) + "\n", encoding="utf-8")

    def run(*arguments: object) -> Result:
        with pytest.raises(SystemExit) as caught:
            commands.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(int(str(caught.value.code)), captured.out, captured.err)

    return run


def test_guard_blocks_this_process_and_its_children(egress: Callable[[], list[str]]) -> None:
    with pytest.raises(socket.gaierror):
        socket.create_connection(("example.org", 80))
    with socket.socket() as connection, pytest.raises(ConnectionRefusedError):
        connection.connect_ex(("192.0.2.1", 80))
    script = "import socket\ntry: socket.getaddrinfo('child.example', 80)\nexcept OSError: pass"
    subprocess.run([sys.executable, "-c", script], check=True)
    assert egress() == ["example.org", "192.0.2.1", "child.example"]
    assert egress() == []


def test_commands_contact_only_the_named_server(
    run: Callable[..., Result], egress: Callable[[], list[str]], serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: set[str] = set()

    def check(*arguments: object, status: int = 0) -> str:
        result = run(*arguments)
        done.add(" ".join(str(part) for part in arguments[: 1 + (arguments[0] in ("models", "labels"))]))
        assert result.status == status, result.err
        assert "Texts go" not in result.err
        assert egress() == [], arguments
        return result.out

    with serving() as server:
        check("generate", "docs", "--out", "run", *SMALL, "--lm", server.spec)
        assert server.texts
        server.texts.clear()
        judged = ("rows.jsonl", "--out", "judged.jsonl", "--critic", "lm", "--lm", server.spec, "--compiled", "none")
        check("judge", "questions", *judged)
        assert ROW["passage"] in server.texts[-1]
        server.texts.clear()
        check("compile", "answer", *BY_SERVER, "--lm", server.spec, "--out", "compiled")
        assert server.texts
    check("chunk", "docs", "--out", "chunks.jsonl")
    check("show", "run")
    with ReviewSession([Path("run")], "reader") as session, serve_review(session) as address:
        with httpx.Client(base_url=address, trust_env=False, follow_redirects=True) as client:
            assert "1 of 3" in client.get("").text
            assert "Signed" in client.post(f"item/{session.items[0].key}", data={"do": "sign"}).text
        assert egress() == []
    check("export", "run", "--format", "autorag", "--out", "autorag")
    check("push", "run", "--repo", "you/demo", "--licence", "other", "--dry-run", "dataset")
    check("import", "autorag", "--out", "imported")
    check("merge", "run", "imported", "--out", "merged")
    check("roundtrip", "run", "--chunk-size", "300,400")
    check("report", "run")
    check("compare", "run", shutil.copytree("run", "copy"))
    check("sample", "run", "--size", 2, "--out", "sample")
    check("split", "run", "--splits", "train=0.5,test=0.5", "--out", "split")
    check("drop", "run", "--where", "rank > 90", "--out", "drop")
    check("relabel", "run", "--critic", "head", "--compiled", "none", "--keep", "--out", "relabel")
    (Path("docs") / "new.md").write_text("# New\n\n" + "Of something that nobody has asked about yet. " * 4)
    check("update", "run", "docs", "--out", "update")
    listed = check("experiments")
    check("promote", listed.splitlines()[1].split()[-1], status=2)
    check("labels", "check", data_path("labels", "chunks.jsonl"))
    check("labels", "stats", data_path("labels", "chunks.jsonl"))
    with RunStore.review(Path("run")) as store:
        [first, *_] = store.results.samples()
        store.reviews.add(Review(item=first.id, verdict="good"))
    check("labels", "from", "run", "--out", "mine.jsonl")
    check("review", "run", "--report")
    check("models", "list")
    for name, value in {
        "INDEX_URL": "https://index.example/simple",
        "RETRIES": "0",
        "CONFIG_FILE": "/dev/null",
    }.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("GROUNDSET_HOME", "home")
    assert run("models", "pull", "smollm2-135m").status == 1
    assert egress() == ["index.example"], "only the index that pip is configured to use"
    assert done | {"models pull", "review", "ui"} == every_command()


def every_command() -> set[str]:
    """Return the names of all commands, including those of groups."""
    found = set()
    tree: Any = typer.main.get_command(commands.build_app())
    for name, command in tree.commands.items():
        found |= {f"{name} {subcommand}" for subcommand in getattr(command, "commands", ())} or {name}
    return found


def test_ui_makes_no_external_connections(run: Callable[..., Result], egress: Callable[[], list[str]]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [
        sys.executable,
        "-c",
        "import sys; from groundset.commands import main; main(sys.argv[1:])",
        "ui",
        "--port",
        port,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("Open http://127.0.0.1:")
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert egress() == []


@pytest.mark.parametrize(
    ("command", "lm", "host"),
    [
        (("generate", "docs", *SMALL), "openai/m@http://gpu.example/v1", "gpu.example"),
        (("generate", "docs", *SMALL), "openai/gpt-5-mini", "api.openai.com"),
        (("judge", "questions", "rows.jsonl", "--critic", "lm"), "openai/m@https://gpu.example/v1", "gpu.example"),
        (("judge", "questions", "rows.jsonl", "--critic", "lm"), "openai/m@http://192.0.2.1:80/v1", "192.0.2.1"),
        (("compile", "answer", *BY_SERVER), "openai/m@http://gpu.example/v1", "gpu.example"),
        (("compile", "judge", "--optimizer", "fit-ensemble"), "openai/gpt-5-mini", "api.openai.com"),
    ],
)
def test_remote_model_is_looked_up_only_at_its_host(
    run: Callable[..., Result],
    egress: Callable[[], list[str]],
    tmp_path: Path,
    command: tuple[str, ...],
    lm: str,
    host: str,
) -> None:
    before = sorted(tmp_path.rglob("*"))
    result = run(*command, "--lm", lm, "--out", "out.jsonl")
    assert result.status == 2
    assert result.err.startswith("groundset: error: no model server ")
    assert result.err.count("\n") == 1
    assert egress() == [host]
    assert sorted(tmp_path.rglob("*")) == before, "no folder, no MLflow run"


@pytest.mark.parametrize("lm", ["openai/m@http://[::1", "openai/m@http://host:x/v1"])
@pytest.mark.parametrize(
    "command",
    [
        ("generate", "docs"),
        ("judge", "questions", "rows.jsonl", "--critic", "lm"),
        ("compile", "answer", *BY_SERVER),
        ("compile", "answer", *BY_SERVER, "--lm", "smollm2-135m", "--teacher"),
    ],
)
def test_invalid_base_url_is_rejected(
    run: Callable[..., Result], egress: Callable[[], list[str]], tmp_path: Path, command: tuple[str, ...], lm: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    option = () if command[-1] == "--teacher" else ("--lm",)
    result = run(*command, *option, lm, "--out", "out.jsonl")
    assert result.status == 2
    assert result.err.startswith(f"groundset: error: {lm.partition('@')[2]!r}: not a base URL")
    assert egress() == []
    assert sorted(tmp_path.rglob("*")) == before


def test_state_with_language_model_is_rejected_before_any_call(
    run: Callable[..., Result], egress: Callable[[], list[str]], tmp_path: Path, serving: Any
) -> None:
    predictor = {**HEAD["predictor"], "lm": {"model": "openai/evil", "api_base": "http://evil.example"}}
    file = tmp_path / "own" / "openai-tiny-server" / "judge.json"
    file.parent.mkdir(parents=True)
    unfit = {key: HEAD[key] for key in ("step", "signature", "dspy", "version", "optimizer")}
    file.write_text(json.dumps({**unfit, "model": "openai/tiny@server", "predictor": predictor}))
    with serving() as server:
        model = ("--critic", "lm", "--lm", server.spec, "--compiled", "own")
        result = run("judge", "questions", "rows.jsonl", "--out", "out.jsonl", *model)
        assert server.texts == []
    assert result.status == 2
    assert "judge.json: names a language model of its own" in result.err
    assert not (tmp_path / "out.jsonl").exists()
    assert egress() == []


@pytest.mark.parametrize("option", [(), ("--track-texts",)])
def test_tracking_server_is_announced_before_texts_are_sent(
    run: Callable[..., Result],
    egress: Callable[[], list[str]],
    serving: Any,
    monkeypatch: pytest.MonkeyPatch,
    option: tuple[str, ...],
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@mlflow.example")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with serving() as server:
        result = run("generate", "docs", "--out", "run", *SMALL, "--lm", server.spec, *option)
    assert result.status == 0, result.err
    assert ("Texts go to mlflow.example, the tracking store.\n" in result.err) == bool(option)
    assert "http://mlflow.example does not respond" in result.err
    assert "secret" not in result.err
    assert egress() == ["mlflow.example"]
