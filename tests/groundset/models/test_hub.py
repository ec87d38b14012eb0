"""Files of the Hub come through its own client, from a server on this machine."""

import hashlib

import pytest
from huggingface_hub import constants
from refusal import refuses

from groundset import privacy
from groundset.models.fetch import parse_name, pull
from groundset.programs.errors import ChecksumError, UnknownModelError, UnreachableModelError

NAME = "hf/you/toy/quants/tiny.gguf"
WEIGHTS = b"GGUF" + bytes(1_000)
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


@pytest.fixture(autouse=True)
def weights(home, hub) -> None:
    """The file, in the repository of the toy."""
    hub.put("you/toy", "quants/tiny.gguf", WEIGHTS)


def test_a_file_is_downloaded_once(hub, home):
    said = []
    path = pull(NAME, notify=said.append)
    assert path == home / "models" / NAME
    assert path.read_bytes() == WEIGHTS
    assert said[-1] == f"{NAME} is ready (SHA-256 {SHA256})"
    hub.asked.clear()
    assert pull(NAME) == path
    assert hub.asked == []
    commit = hub.repos["you/toy"].head
    assert pull(f"{NAME}@{commit}").parent.parent.name == f"toy@{commit}"
    assert f"/resolve/{commit}/" in hub.asked[0]


def test_what_is_not_the_file_is_refused(hub):
    hub.blobs[SHA256] = WEIGHTS[:-1] + b"x"
    with refuses(f"instead of {SHA256}; it was deleted", ChecksumError):
        pull(NAME)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf/you/none/a.gguf", "Repository Not Found"),
        (f"{NAME}@v9", "Revision Not Found"),
        ("hf/you/toy/a.gguf", "Entry Not Found"),
        ("hf/you/gated/a.gguf", "Cannot access gated repo"),
    ],
)
def test_a_refusal_says_what_the_client_of_the_hub_does(hub, name, message):
    hub.create("you/gated").is_gated = True
    with refuses(
        f"cannot be downloaded from the Hugging Face Hub: .*{message}", UnreachableModelError
    ):
        pull(name)


def test_the_hub_stays_off_where_the_user_says_so(monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(privacy, "took_the_hub_offline", lambda: False)
    with refuses("please unset the `HF_HUB_OFFLINE` environment variable", UnreachableModelError):
        pull(NAME)
    monkeypatch.setattr(privacy, "took_the_hub_offline", lambda: True)  # groundset's own default
    assert pull(NAME).is_file()
    assert constants.HF_HUB_OFFLINE


@pytest.mark.parametrize(
    "name",
    [
        "hf/owner/tiny.gguf",
        "hf/owner/repo/../x.gguf",
        "hf/owner/repo//x.gguf",
        "hf/owner/repo/x.bin",
        "hf/owner/repo/x.gguf@../y",
        "hf/o w/repo/x.gguf",
    ],
)
def test_names_that_are_none(name):
    with refuses("not a file of the Hugging Face Hub", UnknownModelError):
        parse_name(name)
