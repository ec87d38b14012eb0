"""Native code contacts no other host after documents were read."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from egress_guard import VARIABLE
from foreign_files import docx

# Longer than the delay of the telemetry of onnxruntime (nine seconds).
SECONDS = 14
READ = f"""
import sys, time
import groundset
print(len(groundset.chunk(sys.argv[1], min_length=0)))
import magika, onnxruntime
time.sleep({SECONDS})
"""
LOOK_UP = """
import ctypes, socket, sys
found = ctypes.c_void_p()
ctypes.CDLL(None).getaddrinfo(b"native.example", b"443", None, ctypes.byref(found))
with socket.socket() as talk:
    talk.connect_ex(("192.0.2.1", 80))
"""


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a library that records look-ups and connections of the processes that preload it."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("guard") / "lookups.so"
    source = Path(__file__).parents[1] / "egress" / "lookups.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def contacted_hosts(guard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Run a script with an empty home folder, and return the hosts that it contacted."""
    notes = tmp_path / "notes"
    for name, value in {"LD_PRELOAD": guard, VARIABLE: notes, "HOME": tmp_path / "home"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def run(script: str, *arguments: object) -> list[str]:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return notes.read_text().splitlines() if notes.exists() else []

    return run


def test_guard_records_native_lookups(contacted_hosts: Callable[..., list[str]]) -> None:
    assert contacted_hosts(LOOK_UP) == ["native.example", "192.0.2.1"]


def test_reading_documents_contacts_no_host(contacted_hosts: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    paragraph = "<w:p><w:r><w:t>The mill was built by two brothers in 1887.</w:t></w:r></w:p>"
    (tmp_path / "docs" / "mill.docx").write_bytes(docx(paragraph * 3))
    (tmp_path / "docs" / "ferry.html").write_text("<p>The ferry leaves Brannock pier at seven each morning.</p>")
    assert contacted_hosts(READ, tmp_path / "docs") == []
    assert not list((tmp_path / "home").rglob("*Microsoft*")), "no device id is stored"


def test_reading_documents_does_not_load_onnxruntime() -> None:
    script = (
        "import io, sys\nfrom groundset.corpus.parsing.html import markitdown_converters\n"
        "markitdown_converters()\nprint('onnxruntime' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
