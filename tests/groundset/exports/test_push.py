"""Pushing to a Hub on this machine: commits, errors, and the token."""

import io
from collections.abc import Iterator
from typing import Any

import hub_server
import pandas as pd
import pytest
from evaluation_sets import private_run, sample, two_documents
from huggingface_hub import DatasetCard, close_session, constants
from refusal import refuses

from groundset.programs.errors import HubError

# The Hub's client hands bytes to httpx in a way that httpx will drop.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning"
)
CORPUS, QA = "data/corpus/corpus-00000-of-00001.parquet", "data/qa/test-00000-of-00001.parquet"
OURS = ["README.md", CORPUS, QA, "groundset.json"]


@pytest.fixture
def hub(monkeypatch) -> Iterator[Any]:
    """A Hub on this machine, and the token of somebody who may write to what is `you`'s."""
    with hub_server.serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", hub_server.TOKEN)
        monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
        yield server
        close_session()


def table(content):
    return pd.read_parquet(io.BytesIO(content))


def test_push_creates_a_dataset_once(hub, push, capfd):
    assert push() == (2, 4, f"{hub.url}/datasets/you/demo", False, True)
    files = hub.files("you/demo")
    assert sorted(files) == [".gitattributes", *OURS]
    assert table(files[QA])["id"].tolist() == ["q-1", "q-2"]
    assert hub.repos["you/demo"].messages == [
        "initial commit",
        "Evaluation set of 2 questions and 4 passages",
    ]
    assert capfd.readouterr().err.startswith(f"texts go to {hub.url.removeprefix('http://')}\n")
    hub.asked.clear()
    assert push().is_changed is False
    assert len(hub.repos["you/demo"].messages) == 2
    assert hub.count("PUT") == hub.count("/commit/") == 0


def test_push_replaces_what_is_ours_and_keeps_what_is_not(hub, push):
    push()
    others = {
        "data/notes.parquet": b"theirs",
        "data/qa/notes.txt": b"theirs too",
        "LICENSE": b"text",
    }
    for path, content in others.items():
        hub.put("you/demo", path, content)
    ferry, clock, *_ = two_documents().chunks
    halves = private_run(
        sample("q-1", ferry, question="One?"), sample("q-2", clock, question="Two?")
    )
    assert push(halves, splits="dev=0.5,train=0.5").is_changed
    expected = {".gitattributes", *others, *OURS} - {QA}
    assert {*hub.files("you/demo")} == expected | {
        QA.replace("test", "dev"),
        QA.replace("test", "train"),
    }
    card = DatasetCard(hub.files("you/demo")["README.md"].decode())
    assert [row["split"] for row in card.data.configs[0]["data_files"]] == ["train", "dev"]
    hub.put("you/demo", "README.md", b"# My own card\n")
    with refuses(r"you/demo: its README.md was not written by groundset"):
        push()
    assert hub.files("you/demo")["README.md"] == b"# My own card\n"
    assert push(replace_card=True).is_changed


def test_private_datasets(hub, push):
    assert push(private=True).is_private is True
    assert push().is_private is True, "it stays so"
    hub.create("you/open")
    with refuses(r"private: http\S+/datasets/you/open is public"):
        push(repo="you/open", private=True)
    assert [*hub.files("you/open")] == [".gitattributes"]


@pytest.mark.parametrize("status", [500, 0])
def test_failed_commit_changes_nothing_and_can_be_repeated(hub, push, status):
    hub.failing = [("/commit/", status)] * (6 if status == 0 else 1)
    with refuses("run the command again", HubError):
        push()
    hub.failing = []
    assert [*hub.files("you/demo")] == [".gitattributes"]
    assert hub.count("PUT /lfs/") == 2
    hub.asked.clear()
    assert push().is_changed
    assert hub.count("PUT /lfs/") == 0, "what was sent is there"


def test_changes_meanwhile_are_not_overwritten(hub, push, monkeypatch):
    real = hub_server._Handler._check_card

    def meanwhile(self):
        self.server.put("you/demo", "README.md", b"written meanwhile")
        real(self)

    monkeypatch.setattr(hub_server._Handler, "_check_card", meanwhile)
    with refuses("was changed during the push", HubError):
        push()
    assert hub.files("you/demo")["README.md"] == b"written meanwhile"


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        ("/repos/create", 401, "HF_TOKEN"),
        ("/commit/", 403, "write access to you/demo"),
        ("GET /api/datasets/you/demo", 404, "check the spelling of you/demo"),
        ("/commit/", 412, "you/demo was changed"),
        ("/commit/", 429, "run the command again later"),
        ("/commit/", 418, r"\(418: told to fail with 418; \(the token\)\)"),
        ("/repos/create", 502, r"\(502: .*run the command again"),
        ("/repos/create", -1, "run the command again later"),
    ],
)
def test_hub_errors_are_one_line_without_the_token(
    hub, push, monkeypatch, request_, status, message
):
    monkeypatch.setattr("groundset.exports.hub._TIMEOUT", 0.3)
    hub.failing = [(request_, status)] * 6
    with refuses(message, HubError) as error:
        push()
    assert "hf_secret" not in str(error.value)


def test_token_of_the_login_is_used_and_not_leaked(hub, push, monkeypatch, tmp_path, capfd):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    with refuses("no token for the Hub; set HF_TOKEN or run", HubError):
        push()
    assert hub.asked == []
    (tmp_path / "token").write_text(hub_server.TOKEN)
    push()
    assert not any(hub_server.TOKEN in each for each in hub.asked), "in no address"
    assert not any(
        hub_server.TOKEN.encode() in content for content in hub.files("you/demo").values()
    )
    assert hub_server.TOKEN not in "".join(capfd.readouterr())


def test_offline_mode_of_the_user_is_respected(hub, push, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("groundset.privacy._taken_offline", False)
    with refuses("HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE", HubError):
        push()
    assert hub.asked == []
    monkeypatch.setattr("groundset.privacy._taken_offline", True)
    assert push().is_changed


@pytest.mark.parametrize("address", ["http://me:secret@127.0.0.1:9", "nonsense", "http://[::1"])
def test_unreachable_hub_is_one_line_without_the_password(push, monkeypatch, address):
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    with pytest.raises(HubError) as failed:
        push()
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"repo": name}, "repo")
            for name in ("demo", "a/b/c", "you/../x", "you/de mo", "you/demo.git", "/demo", "")
        ),
    ],
)
def test_names_are_checked(hub, push, options, message):
    with refuses(message):
        push(**options)
    assert hub.asked == []
