"""Files that a user names on the Hub, downloaded from a local server."""

import errno
import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import model_hub
import pytest
from typer.testing import CliRunner

from groundset.commands import build_app
from groundset.models import HubSpec, LocalSpec, ensure_available, parse_spec
from groundset.models.hub import fetched_files, fetched_sha256
from groundset.models.specs import receiver
from programs.critics.states import folder_of
from programs.errors import (
    ChecksumError,
    DownloadError,
    HubError,
    InputError,
    ModelError,
    UnknownModelError,
    UnreachableModelError,
    WeightsError,
)

WEIGHTS = b"GGUF" + bytes(range(256)) * 3000
OTHER = b"GGUF" + bytes(reversed(range(256))) * 3000
NAME = "hf/org/tiny-GGUF/tiny.Q4_K_M.gguf"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[model_hub.ModelHub]:
    with model_hub.serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        monkeypatch.delenv("HF_TOKEN", raising=False)
        monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
        server.put("org/tiny-GGUF", {"tiny.Q4_K_M.gguf": WEIGHTS, "README.md": b"# Tiny"})
        yield server


def ready(name: str, notes: Any = None) -> LocalSpec:
    spec = ensure_available(parse_spec(name), progress=notes)
    assert isinstance(spec, LocalSpec)
    return spec


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_file_is_downloaded_once_and_recorded(hub, home, notes):
    commit = hub.repos["org/tiny-GGUF"].branches["main"]
    spec = ready(NAME, notes)
    path = home / "models" / "hf" / "org" / "tiny-GGUF" / "tiny.Q4_K_M.gguf"
    assert spec == LocalSpec(path, sha256(WEIGHTS), NAME)
    assert path.read_bytes() == WEIGHTS
    record = {"name": NAME, "commit": commit, "size": len(WEIGHTS), "sha256": sha256(WEIGHTS)}
    assert json.loads(path.with_name(f"{path.name}.json").read_text()) == record
    assert {description for description, *_ in notes.reached} == {
        "Downloading from the Hugging Face Hub (org/tiny-GGUF)"
    }
    assert notes.reached[-1][1:] == (len(WEIGHTS), len(WEIGHTS))
    assert notes.lines == [f"{NAME} is verified and ready (SHA-256 {sha256(WEIGHTS)})."]
    assert list((home / "partial").iterdir()) == []
    assert hub.count(f"GET /org/tiny-GGUF/resolve/{commit}/") == 1
    hub.asked.clear()
    assert ready(NAME) == spec
    assert hub.asked == []


def test_parsing_a_name_sends_no_request(hub, home):
    spec = parse_spec(f" {NAME} ")
    assert spec == HubSpec("org/tiny-GGUF", "tiny.Q4_K_M.gguf")
    assert (spec.name, receiver(spec), fetched_sha256(spec)) == (NAME, None, None)
    assert hub.asked == []
    assert not home.exists()


def test_revisions_and_folders(hub, home, notes):
    hub.put("org/tiny-GGUF", {"Q8/tiny 2.gguf": OTHER}, branch="refs/pr/1")
    name = "hf/org/tiny-GGUF/Q8/tiny 2.gguf@refs/pr/1"
    spec = ready(name, notes)
    assert spec.name == name
    assert spec.path == home / "models" / "hf" / "org" / "tiny-GGUF@refs%2Fpr%2F1" / "Q8" / "tiny 2.gguf"
    assert spec.sha256 == sha256(OTHER)
    assert ready(f"{NAME}@main", notes).name == NAME
    commit = hub.repos["org/tiny-GGUF"].branches["main"]
    assert ready(f"{NAME}@{commit}", notes).sha256 == sha256(WEIGHTS)


def test_changed_file_on_the_hub_is_rejected(hub, notes):
    spec = ready(NAME, notes)
    hub.put("org/tiny-GGUF", {"tiny.Q4_K_M.gguf": OTHER})
    assert ready(NAME) == spec
    spec.path.unlink()
    assert ready(NAME, notes) == spec, "the recorded commit was not used"
    assert spec.path.read_bytes() == WEIGHTS
    changed = {"tiny.Q4_K_M.gguf": OTHER}
    hub.repos["org/tiny-GGUF"].commits = dict.fromkeys(hub.repos["org/tiny-GGUF"].commits, changed)
    spec.path.unlink()
    with pytest.raises(ChecksumError, match=r"has changed on the Hub: .*; delete .*Q4_K_M\.gguf\.json to use"):
        ready(NAME, notes)
    assert not spec.path.exists()
    spec.path.with_name(f"{spec.path.name}.json").unlink()
    assert ready(NAME, notes).sha256 == sha256(OTHER)


def test_changed_local_copy_is_downloaded_again(hub, notes):
    spec = ready(NAME, notes)
    spec.path.write_bytes(OTHER)
    assert ready(NAME, notes) == spec
    assert spec.path.read_bytes() == WEIGHTS
    assert any(line.startswith(f"{spec.path} has changed") for line in notes.lines)


def test_damaged_record(hub, notes):
    spec = ready(NAME, notes)
    record = spec.path.with_name(f"{spec.path.name}.json")
    for damaged in ("", "[]", "{}", '{"commit": "main", "size": 1, "sha256": "0"}', '{"commit": 1, "size": 1}'):
        record.write_text(damaged)
        with pytest.raises(ModelError, match=r"gguf\.json: damaged record; delete it"):
            ready(NAME, notes)
    assert list(fetched_files()) == []


def test_hash_is_computed_if_the_hub_reports_none(hub, notes):
    hub.plain = True
    spec = ready(NAME, notes)
    assert spec.sha256 == sha256(WEIGHTS)
    spec.path.unlink()
    assert ready(NAME, notes) == spec
    commit = hub.repos["org/tiny-GGUF"].branches["main"]
    hub.repos["org/tiny-GGUF"].commits[commit]["tiny.Q4_K_M.gguf"] = OTHER
    spec.path.unlink()
    with pytest.raises(ChecksumError, match=r"cannot be pulled: .* has SHA-256 .*; deleted$"):
        ready(NAME, notes)


def test_broken_download_is_resumed(hub, home, notes):
    hub.cuts = [100_000, 200_000]
    ready(NAME, notes)
    assert [each.rpartition(" ")[2] for each in hub.asked if "/blobs/" in each][1:] == [
        "bytes=100000-",
        "bytes=300000-",
    ]


def test_partial_download_is_kept_after_a_failure(hub, home, notes):
    hub.cuts = [100_000, 0]
    with pytest.raises(DownloadError, match=rf"cannot be reached .*; repeat the command to resume {NAME}$"):
        ready(NAME, notes)
    assert not [path for path in (home / "models").rglob("*") if path.is_file()]
    hub.asked.clear()
    assert ready(NAME, notes).path.read_bytes() == WEIGHTS
    assert hub.count("bytes=100000-") == 2, "one request before and one after the redirect"


def test_partial_download_of_a_replaced_file_is_deleted(hub, home, notes):
    hub.cuts = [100_000, 0]
    with pytest.raises(DownloadError):
        ready(NAME, notes)
    hub.put("org/tiny-GGUF", {"tiny.Q4_K_M.gguf": OTHER})
    assert ready(NAME, notes).path.read_bytes() == OTHER
    assert list((home / "partial").iterdir()) == []


def test_wrong_hash(hub, notes):
    hub.hashes["tiny.Q4_K_M.gguf"] = "a" * 64
    with pytest.raises(ChecksumError, match=rf"^{NAME} cannot be pulled: .* instead of aaa.*; deleted$"):
        ready(NAME, notes)


def message_of(name: str, kind: type[ModelError], notes: Any) -> str:
    with pytest.raises(kind) as caught:
        ready(name, notes)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_missing_repository(hub, notes, monkeypatch):
    host = hub.url.removeprefix("http://")
    message = message_of("hf/org/none/tiny.gguf", UnknownModelError, notes)
    assert message.startswith(f"{host} has no repository org/none, or it is private and needs HF_TOKEN")
    monkeypatch.setenv("HF_TOKEN", model_hub.TOKEN)
    assert "or your token has no access" in message_of("hf/org/none/tiny.gguf", UnknownModelError, notes)
    assert "has no repository org/a--b" in message_of("hf/org/a--b/tiny.gguf", UnknownModelError, notes)


def test_missing_file(hub, notes):
    hub.put("org/tiny-GGUF", {f"tiny.Q{n}_0.gguf": WEIGHTS for n in range(2, 9)} | {"tiny\n.gguf": WEIGHTS})
    message = message_of("hf/org/tiny-GGUF/tiny.Q5_1.gguf", UnknownModelError, notes)
    names = message.removeprefix("org/tiny-GGUF has no file tiny.Q5_1.gguf; it has ").split(", ")
    assert len(names) == 5
    assert names[0] == "tiny.Q5_0.gguf"
    assert all(name.endswith(".gguf") for name in names)
    hub.put("org/empty", {"README.md": b""})
    message = message_of("hf/org/empty/tiny.gguf", UnknownModelError, notes)
    assert message == f"org/empty has no file tiny.gguf; see {hub.url}/org/empty"


def test_missing_revision(hub, notes):
    message = message_of(f"{NAME}@v9", UnknownModelError, notes)
    assert message == f"org/tiny-GGUF has no revision v9; see {hub.url}/org/tiny-GGUF"


def test_gated_repository_needs_a_token_that_is_not_sent_elsewhere(hub, notes, monkeypatch):
    hub.put("org/gated", {"tiny.gguf": WEIGHTS}, gated=True)
    message = message_of("hf/org/gated/tiny.gguf", UnreachableModelError, notes)
    assert message == f"org/gated is gated: set HF_TOKEN, and accept its terms at {hub.url}/org/gated"
    monkeypatch.setenv("HF_TOKEN", model_hub.TOKEN)
    hub.tokens.clear()
    ready("hf/org/gated/tiny.gguf", notes)
    assert hub.tokens == {"127.0.0.1": {model_hub.TOKEN}, "localhost": {None}}
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    message = message_of(f"{NAME}@main", UnreachableModelError, notes)
    assert message.endswith("rejects the token (401); set HF_TOKEN to one that reads org/tiny-GGUF")
    assert "hf_wrong" not in message
    monkeypatch.setenv("HF_TOKEN", "hf_ü")
    with pytest.raises(HubError, match="set HF_TOKEN again"):
        ready(NAME, notes)


def test_unreachable_hub(hub, notes, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
        message = message_of(NAME, UnreachableModelError, notes)
    assert message.startswith(f"{NAME} is not in the cache, and 127.0.0.1:{port} cannot be reached (")


@pytest.mark.parametrize(
    ("status", "message"),
    [(429, "(429)"), (503, f"answers 503 for {NAME}; try again later"), (403, "rejects the token")],
)
def test_error_status_of_the_hub(hub, notes, status, message):
    hub.status = status
    assert message in message_of(NAME, UnreachableModelError, notes)


def test_server_that_is_not_a_hub(hub, notes):
    hub.sizes["tiny.Q4_K_M.gguf"] = 0
    assert "does not answer like the Hub" in message_of(NAME, UnreachableModelError, notes)


def test_offline_mode_of_the_user_is_kept(hub, notes, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("groundset.privacy._taken_offline", False)
    assert "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE" in message_of(NAME, UnreachableModelError, notes)
    assert hub.asked == []
    monkeypatch.setattr("groundset.privacy._taken_offline", True)
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    ready(NAME, notes)
    assert constants.HF_HUB_OFFLINE is True


def test_download_of_a_file_that_is_not_gguf_stops(hub, home, notes):
    hub.put("org/tiny-GGUF", {"tiny.Q4_K_M.gguf": b"PK" + bytes(2_000_000), "short.gguf": b"GG"})
    assert (
        message_of(NAME, UnknownModelError, notes)
        == "tiny.Q4_K_M.gguf on the Hub is not a GGUF file; name another file"
    )
    assert notes.reached == []
    message_of("hf/org/tiny-GGUF/short.gguf", UnknownModelError, notes)
    assert not [path for path in (home / "partial").rglob("*") if path.is_file()]


def test_file_larger_than_the_memory_is_not_downloaded(hub, notes, monkeypatch):
    hub.put("org/tiny-GGUF", {"tiny.Q2_K.gguf": WEIGHTS, "huge.gguf": WEIGHTS})
    hub.sizes["huge.gguf"] = 40_000_000_000
    monkeypatch.setattr("groundset.models.hub_client.machine_bytes", lambda: 16_000_000_000)
    message = message_of("hf/org/tiny-GGUF/huge.gguf", WeightsError, notes)
    assert "takes 40.00 GB, and this machine has 16.00 GB of memory; name a smaller file: tiny.Q" in message
    assert "huge.gguf," not in message
    assert hub.count("GET /org") == 0


def test_full_disk(hub, home, notes, monkeypatch):
    usage = SimpleNamespace(free=10)
    with monkeypatch.context() as patch:
        patch.setattr("groundset.models.download.shutil.disk_usage", lambda _: usage)
        with pytest.raises(ModelError, match=r"^not enough disk space in .*GROUNDSET_HOME moves the cache"):
            ready(NAME, notes)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("groundset.models.download.os.fsync", full)
        with pytest.raises(ModelError, match=rf"^the disk is full: {NAME} needs space in .*GROUNDSET_HOME"):
            ready(NAME, notes)
    assert not [path for path in (home / "models").rglob("*") if path.is_file()]
    assert ready(NAME, notes).path.read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hf/org/tiny", "use hf/<owner>/<repo>/<file>.gguf"),
        ("hf/org/tiny/model.safetensors", "not a file of the Hugging Face Hub"),
        ("hf/tiny.gguf", "not a file"),
        ("hf/../../etc/tiny.gguf", "not a file"),
        ("hf/org/tiny/../tiny.gguf", "not a file"),
        ("hf/org/tiny/a//tiny.gguf", "not a file"),
        ("hf/org/tiny/tiny.gguf@", "not a file"),
        ("hf/org/tiny/tiny.gguf@../main", "not a file"),
        ("hf/org/tiny/ti\ny.gguf", "not a file"),
        ("hf/org/tiny/" + "x" * 600 + ".gguf", "not a file"),
        ("hf/org/tiny/tiny-00001-of-00003.gguf", "one part of a split model"),
    ],
)
def test_invalid_names(text, message):
    with pytest.raises(UnknownModelError) as caught:
        parse_spec(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folder_names():
    assert folder_of(f"{NAME}@v1/2") == "hf-org-tiny-GGUF-tiny.Q4_K_M.gguf-v1-2"
    long = [folder_of(f"hf/org/{'ü' * 300}{end}.gguf") for end in "ab"]
    assert long[0] != long[1]
    assert all(len(each.encode()) < 255 for each in long)


def test_two_processes_download_once(hub, home):
    code = f"from groundset.models import *; print(ensure_available(parse_spec({NAME!r})).sha256)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("HF_HUB_OFFLINE", None)  # set by loading an embedder
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) for _ in range(2)]
    assert [each.communicate(timeout=300)[0].decode().strip() for each in both] == [sha256(WEIGHTS)] * 2
    assert hub.count("GET /blobs") == 1


def test_commands_pull_and_list_hub_files(hub, home, monkeypatch):
    runner, app = CliRunner(env={"COLUMNS": "200"}), build_app()
    pulled = runner.invoke(app, ["models", "pull", NAME])
    path = home / "models" / "hf" / "org" / "tiny-GGUF" / "tiny.Q4_K_M.gguf"
    assert pulled.stdout.splitlines()[-1:] == [str(path)]
    commit = hub.repos["org/tiny-GGUF"].branches["main"]
    listed = json.loads(runner.invoke(app, ["models", "list", "--json"]).stdout)["models"][-1]
    assert listed == {
        "name": NAME,
        "role": "generator",
        "size": len(WEIGHTS),
        "licence": None,
        "cached": True,
        "note": f"from the Hub, commit {commit[:12]}, SHA-256 {sha256(WEIGHTS)[:16]}",
    }
    path.unlink()
    table = runner.invoke(app, ["models", "list"]).output.splitlines()[-1]
    assert table.split()[:8] == [NAME, "generator", "0.8", "MB", "see", "its", "page", "no"]
    result = runner.invoke(app, ["models", "pull", "--no-hub", NAME])
    assert isinstance(result.exception, InputError)
    assert "--no-hub" in str(result.exception)
