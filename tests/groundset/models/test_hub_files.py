"""Files that a user names on the Hub, fetched by the Hub's own client from a server on this machine."""

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


def test_a_file_is_fetched_once_and_then_needs_no_network(hub, home, notes):
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
    # What is fetched is the commit that was described, whatever comes to the branch meanwhile.
    assert hub.count(f"GET /org/tiny-GGUF/resolve/{commit}/") == 1
    hub.asked.clear()
    assert ready(NAME) == spec
    assert hub.asked == []


def test_naming_asks_nobody(hub, home):
    spec = parse_spec(f" {NAME} ")
    assert spec == HubSpec("org/tiny-GGUF", "tiny.Q4_K_M.gguf")
    assert (spec.name, receiver(spec), fetched_sha256(spec)) == (NAME, None, None)
    assert hub.asked == []
    assert not home.exists()


def test_a_file_in_a_folder_of_a_revision(hub, home, notes):
    hub.put("org/tiny-GGUF", {"Q8/tiny 2.gguf": OTHER}, branch="refs/pr/1")
    name = "hf/org/tiny-GGUF/Q8/tiny 2.gguf@refs/pr/1"
    spec = ready(name, notes)
    assert spec.name == name
    assert spec.path == home / "models" / "hf" / "org" / "tiny-GGUF@refs%2Fpr%2F1" / "Q8" / "tiny 2.gguf"
    assert spec.sha256 == sha256(OTHER)
    assert ready(f"{NAME}@main", notes).name == NAME
    commit = hub.repos["org/tiny-GGUF"].branches["main"]
    assert ready(f"{NAME}@{commit}", notes).sha256 == sha256(WEIGHTS)


def test_a_file_that_changes_on_the_hub_is_not_taken(hub, notes):
    spec = ready(NAME, notes)
    hub.put("org/tiny-GGUF", {"tiny.Q4_K_M.gguf": OTHER})
    assert ready(NAME) == spec
    spec.path.unlink()
    assert ready(NAME, notes) == spec, "the commit that was recorded still holds it"
    assert spec.path.read_bytes() == WEIGHTS
    changed = {"tiny.Q4_K_M.gguf": OTHER}
    hub.repos["org/tiny-GGUF"].commits = dict.fromkeys(hub.repos["org/tiny-GGUF"].commits, changed)
    spec.path.unlink()
    with pytest.raises(
        ChecksumError, match=r"has another file now .*: delete .*Q4_K_M\.gguf\.json to take that one\.$"
    ):
        ready(NAME, notes)
    assert not spec.path.exists()
    spec.path.with_name(f"{spec.path.name}.json").unlink()
    assert ready(NAME, notes).sha256 == sha256(OTHER)


def test_a_copy_that_was_changed_is_fetched_again(hub, notes):
    spec = ready(NAME, notes)
    spec.path.write_bytes(OTHER)
    assert ready(NAME, notes) == spec
    assert spec.path.read_bytes() == WEIGHTS
    assert f"{spec.path} is not what was fetched first: it is fetched again." in notes.lines
    spec.path.write_bytes(OTHER)
    with pytest.raises(ModelError, match="has changed or vanished"):
        ensure_available(spec)


def test_a_record_that_is_damaged_is_named(hub, notes):
    spec = ready(NAME, notes)
    record = spec.path.with_name(f"{spec.path.name}.json")
    for damaged in ("", "[]", "{}", '{"commit": "main", "size": 1, "sha256": "0"}', '{"commit": 1, "size": 1}'):
        record.write_text(damaged)
        with pytest.raises(ModelError, match=r"gguf\.json is damaged, .*; delete it to fetch anew$"):
            ready(NAME, notes)
    assert list(fetched_files()) == []


def test_a_file_without_a_known_hash_is_recorded_by_its_own(hub, notes):
    hub.plain = True
    spec = ready(NAME, notes)
    assert spec.sha256 == sha256(WEIGHTS)
    spec.path.unlink()
    assert ready(NAME, notes) == spec
    commit = hub.repos["org/tiny-GGUF"].branches["main"]
    hub.repos["org/tiny-GGUF"].commits[commit]["tiny.Q4_K_M.gguf"] = OTHER
    spec.path.unlink()
    with pytest.raises(ChecksumError, match=r"cannot be pulled: .* has SHA-256 .*: refused and deleted$"):
        ready(NAME, notes)


def test_a_download_that_breaks_off_goes_on(hub, home, notes):
    hub.cuts = [100_000, 200_000]
    ready(NAME, notes)
    assert [each.rpartition(" ")[2] for each in hub.asked if "/blobs/" in each][1:] == [
        "bytes=100000-",
        "bytes=300000-",
    ]


def test_what_arrived_before_a_failure_is_kept_and_nothing_half_is_used(hub, home, notes):
    hub.cuts = [100_000, 0]
    with pytest.raises(DownloadError, match=rf"cannot be reached .*; the same command continues where {NAME} stopped$"):
        ready(NAME, notes)
    assert not [path for path in (home / "models").rglob("*") if path.is_file()]
    hub.asked.clear()
    assert ready(NAME, notes).path.read_bytes() == WEIGHTS
    assert hub.count("bytes=100000-") == 2, "at the repository and at the host that it sends on to"


def test_pieces_of_a_file_that_was_replaced_meanwhile_go(hub, home, notes):
    hub.cuts = [100_000, 0]
    with pytest.raises(DownloadError):
        ready(NAME, notes)
    hub.put("org/tiny-GGUF", {"tiny.Q4_K_M.gguf": OTHER})
    assert ready(NAME, notes).path.read_bytes() == OTHER
    assert list((home / "partial").iterdir()) == []


def test_bytes_that_are_not_what_the_hub_described_are_refused(hub, notes):
    hub.hashes["tiny.Q4_K_M.gguf"] = "a" * 64
    with pytest.raises(ChecksumError, match=rf"^{NAME} cannot be pulled: .* instead of aaa.*: refused and deleted$"):
        ready(NAME, notes)


def refused(name: str, kind: type[ModelError], notes: Any) -> str:
    with pytest.raises(kind) as caught:
        ready(name, notes)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_repository_that_is_not_there(hub, notes, monkeypatch):
    host = hub.url.removeprefix("http://")
    said = refused("hf/org/none/tiny.gguf", UnknownModelError, notes)
    assert said == (f"{host} knows no repository org/none, or it is private: set HF_TOKEN then; mind how it is spelt")
    monkeypatch.setenv("HF_TOKEN", model_hub.TOKEN)
    assert "or not for this token" in refused("hf/org/none/tiny.gguf", UnknownModelError, notes)
    assert "knows no repository org/a--b" in refused("hf/org/a--b/tiny.gguf", UnknownModelError, notes)


def test_a_file_that_is_not_there(hub, notes):
    hub.put("org/tiny-GGUF", {f"tiny.Q{n}_0.gguf": WEIGHTS for n in range(2, 9)} | {"tiny\n.gguf": WEIGHTS})
    said = refused("hf/org/tiny-GGUF/tiny.Q5_1.gguf", UnknownModelError, notes)
    there = said.removeprefix("org/tiny-GGUF has no file tiny.Q5_1.gguf; it has ").removesuffix(".").split(", ")
    assert len(there) == 5
    assert there[0] == "tiny.Q5_0.gguf"
    assert all(each.endswith(".gguf") for each in there)
    hub.put("org/empty", {"README.md": b""})
    said = refused("hf/org/empty/tiny.gguf", UnknownModelError, notes)
    assert said == f"org/empty has no file tiny.gguf; {hub.url}/org/empty shows what it has"


def test_a_revision_that_is_not_there(hub, notes):
    said = refused(f"{NAME}@v9", UnknownModelError, notes)
    assert said == f"org/tiny-GGUF has no revision v9; {hub.url}/org/tiny-GGUF shows those that it has"


def test_a_gated_repository_wants_a_token_which_goes_nowhere_else(hub, notes, monkeypatch):
    hub.put("org/gated", {"tiny.gguf": WEIGHTS}, gated=True)
    said = refused("hf/org/gated/tiny.gguf", UnreachableModelError, notes)
    assert said == (
        f"org/gated is gated: set HF_TOKEN to a token of yours; its terms are accepted at {hub.url}/org/gated"
    )
    monkeypatch.setenv("HF_TOKEN", model_hub.TOKEN)
    hub.tokens.clear()
    ready("hf/org/gated/tiny.gguf", notes)
    assert hub.tokens == {"127.0.0.1": {model_hub.TOKEN}, "localhost": {None}}
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    said = refused(f"{NAME}@main", UnreachableModelError, notes)
    assert said.endswith("refuses the token (401); set HF_TOKEN to one that may read org/tiny-GGUF")
    assert "hf_wrong" not in said
    monkeypatch.setenv("HF_TOKEN", "hf_ü")
    with pytest.raises(HubError, match="set HF_TOKEN anew"):
        ready(NAME, notes)


def test_nobody_answers(hub, notes, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
        said = refused(NAME, UnreachableModelError, notes)
    assert said.startswith(f"{NAME} is not in the cache, and 127.0.0.1:{port} cannot be reached (")
    assert said.endswith("; try again when it can")


@pytest.mark.parametrize(
    ("status", "said"),
    [(429, "was asked too much (429)"), (503, f"answers 503 for {NAME}; try again later"), (403, "refuses the token")],
)
def test_a_hub_that_refuses(hub, notes, status, said):
    hub.status = status
    assert said in refused(NAME, UnreachableModelError, notes)


def test_a_server_that_is_no_hub(hub, notes):
    hub.sizes["tiny.Q4_K_M.gguf"] = 0
    assert "does not answer as the Hub does" in refused(NAME, UnreachableModelError, notes)


def test_offline_is_kept_where_the_user_asks_for_it(hub, notes, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("groundset.privacy._taken_offline", False)
    assert "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE keeps" in refused(NAME, UnreachableModelError, notes)
    assert hub.asked == []
    monkeypatch.setattr("groundset.privacy._taken_offline", True)
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    ready(NAME, notes)
    assert constants.HF_HUB_OFFLINE is True


def test_a_file_that_is_no_gguf_is_refused_before_it_has_come(hub, home, notes):
    hub.put("org/tiny-GGUF", {"tiny.Q4_K_M.gguf": b"PK" + bytes(2_000_000), "short.gguf": b"GG"})
    assert refused(NAME, UnknownModelError, notes) == "tiny.Q4_K_M.gguf of the Hub is not a GGUF file; name one that is"
    assert notes.reached == []
    refused("hf/org/tiny-GGUF/short.gguf", UnknownModelError, notes)
    assert not [path for path in (home / "partial").rglob("*") if path.is_file()]


def test_a_file_that_is_larger_than_the_memory_is_not_fetched(hub, notes, monkeypatch):
    hub.put("org/tiny-GGUF", {"tiny.Q2_K.gguf": WEIGHTS, "huge.gguf": WEIGHTS})
    hub.sizes["huge.gguf"] = 40_000_000_000
    monkeypatch.setattr("groundset.models.hub_client.machine_bytes", lambda: 16_000_000_000)
    said = refused("hf/org/tiny-GGUF/huge.gguf", WeightsError, notes)
    assert "takes 40.00 GB, and this machine has 16.00 GB of memory; name a smaller file: tiny.Q" in said
    assert "huge.gguf," not in said
    assert hub.count("GET /org") == 0


def test_a_full_disk(hub, home, notes, monkeypatch):
    usage = SimpleNamespace(free=10)
    with monkeypatch.context() as patch:
        patch.setattr("groundset.models.download.shutil.disk_usage", lambda _: usage)
        with pytest.raises(ModelError, match=r"^not enough disk space in .*GROUNDSET_HOME moves the cache"):
            ready(NAME, notes)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("groundset.models.download.os.fsync", full)
        with pytest.raises(ModelError, match=rf"^the disk is full: {NAME} needs room at .*GROUNDSET_HOME"):
            ready(NAME, notes)
    assert not [path for path in (home / "models").rglob("*") if path.is_file()]
    assert ready(NAME, notes).path.read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hf/org/tiny", "names no file of the Hugging Face Hub: hf/<owner>/<repo>/<file>.gguf does"),
        ("hf/org/tiny/model.safetensors", "names no file of the Hugging Face Hub"),
        ("hf/tiny.gguf", "names no file"),
        ("hf/../../etc/tiny.gguf", "names no file"),
        ("hf/org/tiny/../tiny.gguf", "names no file"),
        ("hf/org/tiny/a//tiny.gguf", "names no file"),
        ("hf/org/tiny/tiny.gguf@", "names no file"),
        ("hf/org/tiny/tiny.gguf@../main", "names no file"),
        ("hf/org/tiny/ti\ny.gguf", "names no file"),
        ("hf/org/tiny/" + "x" * 600 + ".gguf", "names no file"),
        ("hf/org/tiny/tiny-00001-of-00003.gguf", "one part of a model in several files"),
    ],
)
def test_what_names_no_file_of_the_hub(text, message):
    with pytest.raises(UnknownModelError) as caught:
        parse_spec(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_make_folders():
    assert folder_of(f"{NAME}@v1/2") == "hf-org-tiny-GGUF-tiny.Q4_K_M.gguf-v1-2"
    long = [folder_of(f"hf/org/{'ü' * 300}{end}.gguf") for end in "ab"]
    assert long[0] != long[1]
    assert all(len(each.encode()) < 255 for each in long)


def test_two_processes_fetch_once(hub, home):
    code = f"from groundset.models import *; print(ensure_available(parse_spec({NAME!r})).sha256)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("HF_HUB_OFFLINE", None)  # whoever loaded an embedder in this process has set it
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) for _ in range(2)]
    assert [each.communicate(timeout=300)[0].decode().strip() for each in both] == [sha256(WEIGHTS)] * 2
    assert hub.count("GET /blobs") == 1


def test_the_command_pulls_and_lists_them(hub, home, monkeypatch):
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
    refused = runner.invoke(app, ["models", "pull", "--no-hub", NAME])
    assert isinstance(refused.exception, InputError)
    assert "leave the option out" in str(refused.exception)
