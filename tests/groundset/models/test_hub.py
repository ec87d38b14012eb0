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
def both(split_entry):
    sources = (HubSource("org/tiny", "main"), *split_entry.sources)
    return ModelEntry("tiny", "generator", split_entry.files, "", "", sources)


@pytest.fixture
def hub(site, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", site.url)
    site.pages[ADDRESS] = PAYLOAD
    return site


@pytest.fixture
def nowhere(monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        yield


def test_the_hub_is_off_unless_asked_for(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert not hub_enabled(None)
    assert hub_enabled(True)
    monkeypatch.setenv("GROUNDSET_HUB", "1")
    assert hub_enabled(None)
    assert not hub_enabled(False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not hub_enabled(None)


def test_the_hub_is_not_contacted_by_default(both, hub, copied, notes):
    pull_entry(both, progress=notes)
    assert not hub.requests
    assert copied


def test_the_hub_comes_first_when_it_is_on(both, hub, copied, home, notes):
    path = pull_entry(both, progress=notes, hub=True)
    assert path.read_bytes() == PAYLOAD
    assert not copied
    assert not (home / "partial" / "tiny").exists()
    assert hub.requests == [(ADDRESS, None)]


@pytest.mark.parametrize(
    ("left", "ranges", "requests"),
    [
        pytest.param(PAYLOAD[:400_000], True, [(ADDRESS, "bytes=400000-")], id="goes on where it stopped"),
        pytest.param(b"not the same bytes", False, [(ADDRESS, "bytes=18-")], id="a server without ranges"),
        pytest.param(PAYLOAD, True, [], id="all was there"),
    ],
)
def test_an_interrupted_download_is_finished(hub_entry, hub, home, notes, left, ranges, requests):
    hub.ranges = ranges
    part = home / "partial" / "tiny" / "tiny.gguf.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(left)
    assert pull_entry(hub_entry, progress=notes, hub=True).read_bytes() == PAYLOAD
    assert hub.requests == requests


def test_a_connection_that_breaks_is_taken_up_again(hub_entry, hub, notes):
    hub.cut_after = [100_000, 200_000]
    assert pull_entry(hub_entry, progress=notes, hub=True).read_bytes() == PAYLOAD
    assert [wanted for _, wanted in hub.requests] == [None, "bytes=100000-", "bytes=300000-"]


def test_what_arrived_before_a_final_failure_is_kept(hub_entry, hub, home, notes):
    hub.cut_after = [100_000, 0]
    with pytest.raises(DownloadError, match="cannot be reached"):
        pull_entry(hub_entry, progress=notes, hub=True)
    assert (home / "partial" / "tiny" / "tiny.gguf.part").stat().st_size == 100_000


def test_an_unreachable_hub_costs_little_and_is_told(both, nowhere, copied, notes):
    start = time.monotonic()
    pull_entry(both, progress=notes, hub=True)
    assert time.monotonic() - start < 4
    assert notes.lines[0].startswith("the Hugging Face Hub cannot be reached (")
    assert notes.lines[0].endswith("trying the next source.")
    assert not hub_answers()


def test_wrong_bytes_from_the_hub_are_refused(hub_entry, both, hub, copied, home, notes):
    hub.pages[ADDRESS] = PAYLOAD[:-1] + b"!"
    with pytest.raises(ChecksumError, match="refused and deleted"):
        pull_entry(hub_entry, progress=notes, hub=True)
    assert not list((home / "partial" / "tiny").iterdir())
    assert pull_entry(both, progress=notes, hub=True).read_bytes() == PAYLOAD
    assert "refused and deleted; trying the next source." in notes.lines[0]


def test_a_file_that_the_hub_does_not_have_is_named(hub_entry, hub, notes):
    hub.pages.clear()
    with pytest.raises(DownloadError, match=r"answered 404 for org/tiny/tiny\.gguf"):
        pull_entry(hub_entry, progress=notes, hub=True)
    assert hub_answers()
