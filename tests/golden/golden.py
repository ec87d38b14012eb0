"""The golden run: the output of the commands on fixed input, to detect unintended changes.

A run is made and passed to every command that reads runs: exports, transforms, comparisons, review. As a script this
writes all output to a folder, with paths, times, hashes and versions masked. To compare two versions of the code byte
for byte on one machine:

    PYTHONPATH=OTHER_CHECKOUT python tests/golden/golden.py before
    python tests/golden/golden.py after
    diff -r before after

With ``--lm MODEL`` a real model makes the run from ``data/samples``; otherwise a scripted model from its own documents.
``--renew`` rewrites the files that the test compares with. ``expected.json`` holds a digest of every text and,
separately, its numbers, whose last digits depend on the processor. ``texts/COMMAND.txt`` holds the error messages of a
command, so that changes of wording are visible in review and other tests need not repeat them.
"""

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
TEXTS = HERE / "texts"
FORMATS = (
    "adk", "argilla", "autorag", "autorageval", "beir", "csv", "deepeval", "hf", "llamaindex", "parquet", "ragas",
    "trec", "triplets",
)  # fmt: skip
_TIMED = ("seconds", "started", "versions", "program", "identity", "read_at")
_MASKS = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:[\d.]+)?(\+00:00|Z)?"), "<time>"),
    (re.compile(r"Took .*?, (?=[\d,]+ language)"), "Took <time>, "),
    (re.compile(r"\d+\.\d+ s\b"), "<time>"),
    (re.compile(r"(?m)^.*seconds per sample.*$"), "<time>"),
    (re.compile(r"(?:http://)?127\.0\.0\.1:\d+"), "<server>"),
)
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


class Handler(BaseHTTPRequestHandler):
    """A model server that returns the answers of ``writer``."""

    writer: Any

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        system = next((each["content"] for each in messages if each["role"] == "system"), "")
        try:
            answer = self.writer.answer(system, messages[-1]["content"])
        except AssertionError:  # the test request when a model is opened
            answer = "yes"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
        usage = {"prompt_tokens": len(system.split()), "completion_tokens": len(answer.split()), "total_tokens": 0}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
        self._send({**body, "usage": usage})

    def _send(self, body: dict[str, Any]) -> None:
        answer = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Ran(NamedTuple):
    """What a command left behind: its exit status, standard output and standard error."""

    status: int
    out: str
    err: str


def groundset(*arguments: str | Path, statuses: tuple[int, ...] = (0,)) -> Ran:
    """Run a command in this process."""
    root = Path(sys.modules["groundset"].__file__ or "").parents[1]
    module, name = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]["groundset"].split(
        ":"
    )
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            getattr(importlib.import_module(module), name)([str(each) for each in arguments])
            status: Any = 0
        except SystemExit as leaving:
            status = leaving.code or 0
    ran = Ran(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))
    assert status in statuses, f"{arguments}: {ran}"
    return ran


@contextlib.contextmanager
def scripted_model() -> Iterator[str]:
    """Serve the scripted model, and yield how to name it."""
    from free_writer import Writer
    from loopback import served

    Handler.writer = Writer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with served(server):
        yield f"openai/scripted@http://127.0.0.1:{server.server_port}/v1"


def make(work: Path, lm: str | None) -> None:
    """Make the golden runs in ``work``, and put one of them through every command."""
    with contextlib.ExitStack() as stack:
        if lm is None:
            from free_writer import write_documents

            docs = write_documents(work / "docs")
            options = ["--lm", stack.enter_context(scripted_model()), "--chunk-size", "600", "--min-length", "50"]
            sizes = (10, 6)
        else:
            docs = work / "docs"
            shutil.copytree(HERE.parents[1] / "data" / "samples", docs)
            options, sizes = ["--lm", lm], (8, 4)
        for name, size in zip(("run", "other"), sizes, strict=True):
            more = ["--seed", "3"] if name == "other" else []
            arguments = ["generate", docs, *options, "--size", str(size), *more, "--no-track", "--out", work / name]
            # The second time there is nothing left to do.
            texts = [groundset(*arguments, statuses=(0, 3)).out for _ in range(2)]
            (work / f"{name}.txt").write_text("\n".join(texts), "utf-8")
    run = work / "run"
    printed = {
        "show": ["show", run, "--json"],
        "trail": ["show", run, "--trail", "--limit", "2"],
        "rejects": ["show", run, "--rejects"],
        "refused": ["show", run, "--rejects", "--out", work / "refused.jsonl"],
        "sample": ["sample", run, "--size", "4", "--by", "evolution", "--out", work / "sample"],
        "split": ["split", run, "--splits", "train=0.5,test=0.5", "--out", work / "split"],
        "drop": ["drop", run, "--where", "rank > 1", "--list"],
        "dropped": ["drop", run, "--where", "length > 9", "--out", work / "drop"],
        "merge": ["merge", run, work / "other", "--out", work / "merge"],
        "relabel": ["relabel", run, "--critic", "head", "--keep", "--out", work / "relabel"],
        "update": ["update", run, docs, "--json", "--out", work / "update"],
        "judge": ["judge", "questions", run / "samples.jsonl", "--out", work / "judged.jsonl"],
        "chunk": ["chunk", docs, "--chunk-size", "400", "--min-length", "50", "--out", work / "chunks.jsonl"],
        "push": ["push", run, "--repo", "you/golden", "--licence", "apache-2.0", "--dry-run", work / "hub"],
        "roundtrip": ["roundtrip", run, "--chunk-size", "300,900", "--json"],
        "compare": ["compare", run, work / "other", "--json"],
        "compared": ["compare", run, work / "other", "--out", work / "compare.html"],
        "review": ["review", run, "--report", "--json"],
        "report": ["report", run, "--no-track"],
        "report-split": ["report", work / "split", "--no-track"],
        "export": ["export", work / "split", "--format", ",".join(FORMATS), "--out", work / "exports"],
        "import": ["import", work / "exports" / "beir", "--out", work / "imported"],
    }  # fmt: skip
    for name, arguments in printed.items():
        (work / f"{name}.txt").write_text(groundset(*arguments).out, "utf-8")


def wrong_uses(work: Path) -> dict[str, str]:
    """Return the error messages of each command for its wrong uses, with the golden runs in ``work``."""
    from wrong_uses import WRONG_USES, paths

    known, found = paths(work), {}
    store = mock.patch.dict(os.environ, MLFLOW_TRACKING_URI=f"sqlite:///{work}/mlflow.db")
    for command, uses in WRONG_USES.items():
        texts = []
        for use in uses:
            words = [re.sub("[A-Z]{3,}", lambda name: str(known[name[0]]), word) for word in use.split()]
            with store:
                ran = groundset(command, *words, statuses=(2,))
            texts.append(_masked(f"$ groundset {command} {use}\n{ran.out}{ran.err}exit status {ran.status}\n", work))
        found[command] = "\n".join(texts)
    return found


def files_of(work: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and masked text of every output file."""
    for file in sorted(work.rglob("*")):
        name = file.relative_to(work).as_posix()
        if not file.is_file() or name.startswith("docs/") or file.name.startswith((".", "run.sqlite")):
            continue
        if file.suffix not in (".png", ".jpg"):
            yield name, _masked(_text_of(file), work)


def _text_of(file: Path) -> str:
    if file.suffix == ".parquet":
        import pandas as pd

        return "\n".join(json.dumps(_plain(row), default=str) for row in pd.read_parquet(file).to_dict("records"))
    if file.suffix == ".arrow":
        import pyarrow

        with pyarrow.memory_map(str(file)) as stream:
            rows = pyarrow.ipc.open_stream(stream).read_all().to_pylist()
        return "\n".join(json.dumps(_plain(row), default=str) for row in rows)
    text = file.read_text("utf-8")
    if file.suffix == ".json" or text.startswith("{"):
        with contextlib.suppress(ValueError):
            return json.dumps(_plain(json.loads(text)), ensure_ascii=False, indent=1, sort_keys=True)
    # Charts depend on the installed fonts.
    return re.sub(r"<svg.*?</svg>", "<svg/>", text, flags=re.DOTALL)


def _plain(value: Any) -> Any:
    """Return a JSON value with varying fields masked."""
    if isinstance(value, dict):
        return {name: None if name.endswith(_TIMED) else _plain(each) for name, each in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _masked(text: str, work: Path) -> str:
    text = text.replace(str(work), "<work>")
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text


def summary_of(work: Path) -> dict[str, Any]:
    """Return the decimal numbers of every file, and a digest of the rest unless the file is prose."""
    found = {}
    for name, text in files_of(work):
        is_prose = name.endswith((".html", ".md")) or (name.endswith(".txt") and not text.startswith("{"))
        digest = hashlib.sha256(_NUMBER.sub("<number>", text).encode()).hexdigest()[:16]
        numbers = [round(float(each), 3) for each in _NUMBER.findall(re.sub("<style.*?</style>", "", text, flags=re.S))]
        found[name] = {"text": None if is_prose else digest, "numbers": numbers}
    return found


def main() -> None:
    """Write the golden run to a folder, or renew the expected files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--lm")
    parser.add_argument("--renew", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "golden")  # runs are named after their folders
        work.mkdir()
        make(work, arguments.lm)
        if arguments.renew:
            EXPECTED.write_text(json.dumps(summary_of(work), indent=0) + "\n", "utf-8")
            for command, text in wrong_uses(work).items():
                (TEXTS / f"{command}.txt").write_text(text, "utf-8")
        for name, text in files_of(work) if arguments.out else ():
            file = arguments.out / f"{name}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")


if __name__ == "__main__":
    sys.path += [str(HERE.parent)]
    importlib.import_module("groundset")
    main()
