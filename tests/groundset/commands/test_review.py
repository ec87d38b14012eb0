"""The command `groundset review`."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import pytest

from groundset.review import server
from groundset.review.session import ReviewSession
from groundset.store.run_store import RunStore
from programs.types import Chunk, Document

TEXT = "The ferry leaves Tollvik at nine."
CHUNK = Chunk(chunk_id="ferry-0000", doc_id="ferry", path="ferry.md", title="Ferry", start=0, end=len(TEXT), text=TEXT)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    document = Document(doc_id="ferry", path="ferry.md", title="Ferry", text=TEXT)
    RunStore.create(folder, meta={}, documents=[document], chunks=[CHUNK]).close()
    return folder


def test_server_prints_its_address_and_stops_on_ctrl_c(folder):
    script = "from groundset.commands import main; main()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", script, "review", str(folder), "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        try:
            line = process.stdout.readline()
            assert "Ctrl-C" in line
            address = line.split()[1]
            assert "no samples yet" in httpx.get(address, follow_redirects=True, trust_env=False).text
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
            assert process.returncode == 0
            assert out == ""
            assert err.splitlines()[-1] == "Reviewed 0 of 0: 0 signed, 0 refused."
            assert address.split("/")[3] not in err
        finally:
            process.kill()
    with pytest.raises(httpx.ConnectError):
        httpx.get(address, trust_env=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--blind",), "--blind "),
        (("--step", "judge"), "--step requires --rejects"),
        (("--rejects", "--step", "judge"), "--step judge: "),
        (("--reader", " "), "--reader: "),
        (("--reader", "a\x1bb"), "--reader: "),
    ],
)
def test_invalid_options_are_named(run, folder, arguments, message):
    ran = run("review", folder, "--no-browser", *arguments)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"groundset: error: {message}")


def test_invalid_folder_and_port_in_use(run, folder, tmp_path):
    ran = run("review", tmp_path, "--no-browser")
    assert (ran.status, f"{tmp_path} is not the folder of a run" in ran.err) == (2, True)
    ran = run("review", tmp_path / ("x" * 300), "--no-browser")
    assert (ran.status, ran.err.endswith("x cannot be read: File name too long\n")) == (2, True)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        ran = run("review", folder, "--no-browser", "--port", port)
    assert ran.status == 2
    assert f"--port {port}: Address already in use" in ran.err


@pytest.mark.parametrize("display", [{}, {"DISPLAY": ":0"}])
def test_browser_needs_a_display_and_gets_no_token(monkeypatch, display):
    found = []
    monkeypatch.setattr(server.sys, "platform", "linux")
    monkeypatch.setattr(server.webbrowser, "open", lambda address: found.append(address) or True)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in display.items():
        monkeypatch.setenv(name, value)
    with server.shown_in_browser("http://127.0.0.1:1/secret/") as shown:
        assert shown is bool(display)
        for address in found:
            assert "secret" not in address
            page = Path(url2pathname(urlsplit(address).path))
            assert "url=http://127.0.0.1:1/secret/" in page.read_text()
            assert page.parent.stat().st_mode & 0o077 == 0
    assert len(found) == len(display)


def test_redirect_page_opens_the_review(browser, folder, monkeypatch):
    monkeypatch.setenv("BROWSER", "any")
    found = []
    monkeypatch.setattr(server.webbrowser, "open", lambda address: found.append(address) or True)
    with (
        ReviewSession([folder], "reader") as session,
        server.serving(session) as address,
        server.shown_in_browser(address),
    ):
        page = browser.new_page()
        page.goto(found[0])
        page.wait_for_url(f"{address}**")
        assert "no samples yet" in page.content()
