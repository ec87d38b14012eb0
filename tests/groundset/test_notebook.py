"""The README snippets and interrupts in a Jupyter kernel."""

import re
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
import scripted_run
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
SECTION = re.compile(r"^## From Python$.*?(?=^## )", re.DOTALL | re.MULTILINE)
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WIDGET = "application/vnd.jupyter.widget-view+json"
pytestmark = pytest.mark.filterwarnings("ignore:Jupyter is migrating:DeprecationWarning")


def scripted_cell(log: Path, seconds: float = 0.0) -> str:
    """Return a cell that replaces models and recipe of `generate`; `judge` keeps its real critic."""
    return f"""
import sys
from pathlib import Path
sys.path[:0] = {[str(ROOT), str(Path(scripted_run.__file__).parent)]!r}
import scripted_run
from groundset.engine import making
making.run_generation = scripted_run.scripted_generation(scripted_run.ScriptedEngine(Path({str(log)!r}), {seconds}))
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the sample documents; Jupyter writes only to temporary folders."""
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / "jupyter"))
    monkeypatch.setenv("BROWSER", f"{shlex.quote(sys.executable)} -c 'pass' %s")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    work = tmp_path / "work"
    (work / "data").mkdir(parents=True)
    (work / "data" / "samples").symlink_to(ROOT / "data" / "samples")
    return work


def text_of(cell: Any) -> str:
    return "".join(output.get("text", "") for output in cell.outputs if output.get("name") == "stdout")


@pytest.mark.model
def test_readme_python_runs_in_a_notebook(workspace: Path, tmp_path: Path) -> None:
    (section,) = SECTION.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    snippets = SNIPPET.findall(section)
    assert len(snippets) == 4
    cells = [nbformat.v4.new_code_cell(source) for source in (scripted_cell(tmp_path / "calls"), *snippets)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(workspace)}}).execute()
    _, made, read, parts, failed = notebook.cells

    (shown,) = [output for output in made.outputs if output.output_type == "execute_result"]
    assert "<Run out/python: 3 of 3 samples, complete>" in shown.data["text/plain"]
    assert "<table>" in shown.data["text/html"]
    assert any(WIDGET in output.get("data", {}) for output in made.outputs), "no bar was drawn"
    assert not [output for output in made.outputs if output.get("name") == "stderr"]

    assert "Kept 3 of 3 samples" in text_of(read)
    assert len(text_of(read).splitlines()[0].split(" | ")) == 3
    assert sorted(file.name for file in (workspace / "out" / "autorag").iterdir()) == ["corpus.parquet", "qa.parquet"]
    assert "Kept 3 of 3 samples" in (workspace / "out" / "python" / "samples.html").read_text(encoding="utf-8")

    verdicts = [line.split() for line in text_of(parts).splitlines()[-3:]]
    assert {verdict for verdict, *_ in verdicts} <= {"good", "bad"}
    assert all(0 <= float(probability) <= 1 for _, probability, _ in verdicts)

    assert f"# {text_of(failed).strip()}\n" in snippets[-1]


class Kernel:
    """A Jupyter kernel; ``run`` starts a cell, ``wait`` returns what it printed."""

    def __init__(self, workspace: Path) -> None:
        self.manager, self.client = start_new_kernel(cwd=str(workspace))

    def run(self, source: str) -> str:
        return str(self.client.execute(source))

    def wait(self, cell: str) -> str:
        printed = ""
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != cell:
                continue
            content = message["content"]
            assert message["msg_type"] != "error", content["traceback"]
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                printed += content["text"]
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return printed


@pytest.fixture
def kernel(workspace: Path) -> Iterator[Kernel]:
    started = Kernel(workspace)
    yield started
    started.client.stop_channels()
    started.manager.shutdown_kernel(now=True)
    started.manager.cleanup_resources()
    started.manager.context.destroy()


def test_kernel_interrupt_returns_a_run_and_the_same_call_resumes(
    kernel: Kernel, workspace: Path, tmp_path: Path
) -> None:
    scripted_run.write_documents(workspace / "docs")
    log = tmp_path / "calls"
    call = """
import os, signal, groundset
before = signal.getsignal(signal.SIGINT)
run = groundset.generate("docs", out="run", size=6, chunk_size=300, min_length=50, parser="none", track=False)
print(os.getpid(), run.status, len(run), run.is_complete, signal.getsignal(signal.SIGINT) is before)
"""
    kernel.wait(kernel.run(scripted_cell(log, seconds=0.3)))
    cell = kernel.run(call)
    deadline = time.monotonic() + 60
    while not log.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    kernel.manager.interrupt_kernel()
    process, status, count, complete, restored = kernel.wait(cell).split()
    assert (status, complete, restored) == ("interrupted", "False", "True")
    assert int(count) < 6
    made = log.read_text().split()

    kernel.wait(kernel.run(scripted_cell(log)))
    assert kernel.wait(kernel.run(call)).split() == [process, "complete", "6", "True", "True"]
    assert not set(made) & set(log.read_text().split()[len(made) :]), "a finished call was made again"
