"""Hostile inputs, through the commands that users give them to.

Each is bounded in memory and time, and ends in one line with status 2, or in a skipped file with
its reason; nothing is half-written, and nothing is sent to a server that the user did not name.
"""

import json
import os
import pickle
import re
import resource
import select
import socket
import struct
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pyarrow as pa
import pytest
from evaluation_sets import cut, document, sample
from foreign_files import archive, docx, pdf
from json_lines import read as read_lines
from json_lines import write
from model_server import serving
from pyarrow import parquet

from groundset.corpus import read
from groundset.corpus.corpus import Corpus
from groundset.programs.errors import RunError
from groundset.programs.step import STEPS
from groundset.programs.types import Reject, StepRecord
from groundset.run.run import open_run, save_run

GOOD = "The mill was built by two brothers in 1887. " * 10
ROW = {
    "passage": "The ferry leaves Brannock at seven.",
    "question": "When does the ferry leave Brannock?",
}
JUDGED = (
    "Reason: fine\nAnswer: at seven\nIndependent: yes\nClear: yes\nAnswerable: yes\nConfidence: 90"
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")


Ended = namedtuple("Ended", "status out err")
Command = Callable[..., Ended]


@pytest.fixture
def command(capsys, monkeypatch, tmp_path, status_of) -> Command:
    """Run a command in this process, in an empty folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*arguments):
        capsys.readouterr()
        return Ended(status_of(*arguments), *capsys.readouterr())

    return run


@pytest.fixture
def refused(command, tmp_path) -> Callable[..., str]:
    """Run a command that must be refused in one line, and leave nothing behind; return the line."""

    def run(*arguments):
        before, used = sorted(tmp_path.rglob("*")), sum(os.times()[:4])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ended = command(*arguments)
        assert sum(os.times()[:4]) - used < 20
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 800 << 10
        lines = ended.err.splitlines()
        assert ended.status == 2
        assert ended.out == "", ended
        assert len(lines[-1]) < 1_000
        assert [line.startswith("groundset: error: ") for line in lines].count(True) == 1, ended.err
        assert sorted(tmp_path.rglob("*")) == before, "something was written"
        return lines[-1].removeprefix("groundset: error: ")

    return run


@pytest.fixture
def rows(tmp_path) -> Path:
    """One question with its passage."""
    return write(tmp_path / "rows.jsonl", [ROW])


@pytest.fixture
def good(tmp_path) -> Path:
    """A document that can be read."""
    (tmp_path / "good.md").write_text(GOOD)
    return tmp_path / "good.md"


def judging(rows, critic, *options):
    """Return the arguments with which a model judges rows."""
    return "judge", "questions", rows, "--critic-lm", critic, "--out", "out.jsonl", *options


@pytest.fixture
def elsewhere() -> Iterator[socket.socket]:
    """A server that nobody named, and that nobody may connect to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening
        assert not select.select([listening], [], [], 0)[0], (
            "a server was contacted that the user did not name"
        )


def lying(data, name, size):
    """Change the size that an archive declares of a file, in its header and in the directory."""
    changed = bytearray(data)
    for magic, offset, length in ((b"PK\3\4", 22, 30), (b"PK\1\2", 24, 46)):
        for found in re.finditer(
            re.escape(magic) + b".{%d}" % (length - 4) + re.escape(name), data, re.DOTALL
        ):
            struct.pack_into("<I", changed, found.start() + offset, size)
    return bytes(changed)


def drawn_twice(deep):
    """Return a PDF of forms, each of which draws the next one twice, on a page below itself."""
    form = (
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>/Length"
        b" 11>>stream\n"
    )
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 2/Kids[3 0 R 2 0 R]>>",
        (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 5"
            b" 0 R>>>>>>"
        ),
        b"<</Length 5>>stream\n/X Do\nendstream",
        *(form % (6 + number) + b"/X Do /X Do\nendstream" for number in range(deep)),
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % each for each in enumerate(objects, 1))
    return b"%%PDF-1.4\n%strailer<</Root 1 0 R/Size %d>>\n%%%%EOF" % (body, len(objects) + 1)


_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="../../../../../../etc/passwd"/></rootfiles></container>'
)
LIMIT = "(?:reading it takes more|its text is longer) than"  # whichever comes first
DOCUMENTS = {  # each with the beginning of the reason why it is skipped
    "a-lie.docx": (lying(docx("<w:p/>" * (40 << 20)), b"word/document.xml", 1_000), LIMIT),
    "cell.ipynb": (
        b'{"cells": [{"cell_type": "markdown", "source": ["%s"]}]}' % (b"word " * 10_000_000),
        LIMIT,
    ),
    "deep.html": (b"<div>a" * 100_000, LIMIT),
    "forms.pdf": (drawn_twice(40), LIMIT),
    "image.pdf": (pdf(b" " * (300 << 20), filters=b"/FlateDecode/X/Image"), LIMIT),
    "row.csv": (b"a,b\n" + b"x," * 10_000_000, LIMIT),
    "up.epub": (
        archive({"META-INF/container.xml": _CONTAINER, "../../up.txt": "up"}),
        "damaged epub file",
    ),
}


def test_documents_that_never_end_are_skipped(command, tmp_path, monkeypatch):
    monkeypatch.setattr(read, "LIMITS", {"memory_mb": 300, "output_mb": 64})
    monkeypatch.setattr(read, "SECONDS", 2)
    monkeypatch.setattr(read, "SECONDS_PER_MB", 0)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "good.md").write_text(GOOD)
    for name, (data, _) in DOCUMENTS.items():
        (tmp_path / "docs" / name).write_bytes(data)
    ended = command("chunk", tmp_path / "docs", "--out", "chunks.jsonl")
    assert ended.status == 0
    assert f"skipped files: {len(DOCUMENTS)})" in ended.out
    for name, (_, reason) in DOCUMENTS.items():
        assert re.search(f"skipped {name}: {reason}", ended.err)
    made = read_lines(Path("chunks.jsonl"))
    assert {row["path"] for row in made} == {"good.md"}
    outside = [*tmp_path.parent.glob("up.txt"), *tmp_path.rglob("up.txt")]
    assert not outside, "an archive wrote out of its folder"


@pytest.mark.parametrize(
    "arguments",
    [
        "chunk ENDLESS.md --out out.jsonl",
        "chunk --chunks ENDLESS.jsonl --out out.jsonl",
        "judge questions ENDLESS.jsonl --out out.jsonl",
        "judge questions ROWS --compiled ENDLESS.json --critic-lm SERVER --out out.jsonl",
        "compile judge --optimizer heads --labels ENDLESS.jsonl --no-track",
        "generate DOC --like ENDLESS.txt --out out",
        "import ENDLESS.jsonl --format jsonl --out out",
    ],
)
def test_pipes_and_devices_without_end_are_refused(refused, rows, good, tmp_path, arguments):
    suffix = re.findall(r"ENDLESS(\.\w+)", arguments)[0]
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    with serving(JUDGED) as server:
        values = {"ROWS": rows, "SERVER": server.spec, "DOC": good}
        for name in ("pipe", "zero"):
            endless = {f"ENDLESS{suffix}": tmp_path / f"{name}{suffix}"}
            refused(*((values | endless).get(each, each) for each in arguments.split()))


def test_a_small_parquet_file_of_many_rows_is_refused(refused, tmp_path):
    texts = pa.DictionaryArray.from_arrays(np.zeros(200_000, np.int32), pa.array(["x" * 7_000]))
    table = pa.table({"doc_id": np.arange(200_000), "contents": texts})
    packed = {"use_dictionary": ["contents"], "column_encoding": {"doc_id": "DELTA_BINARY_PACKED"}}
    parquet.write_table(table, tmp_path / "bomb.parquet", compression="zstd", **packed)
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    line = refused("chunk", "--chunks", tmp_path / "bomb.parquet", "--out", "out.jsonl")
    assert "must not hold more than this" in line


def test_modules_beside_documents_are_not_run(tmp_path, good):
    for name in {*sys.stdlib_module_names, *packages_distributions(), "groundset", "sitecustomize"}:
        (tmp_path / f"{Path(name).name}.py").write_text("import os; os.mkdir('ran')")
    command = [sys.executable, "-P", "-m", "groundset", "chunk", good, "--out", "out.jsonl"]
    path = {"PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run(command, cwd=tmp_path, env=os.environ | path, check=True)
    assert (tmp_path / "out.jsonl").exists()
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def state() -> dict[str, Any]:
    return dict(dspy.Predict(STEPS["judge"].signature).dump_state())


def test_the_server_of_a_compiled_state_is_not_contacted(command, state, elsewhere, rows, tmp_path):
    url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/v1"
    (tmp_path / "states").mkdir()
    lm = {
        "model": "openai/evil",
        "api_base": url,
        "api_key": "k",
        "engine": {"state": {"spec": f"openai/evil@{url}"}},
    }
    (tmp_path / "states" / "judge.json").write_text(json.dumps(state | {"lm": lm}))
    with serving(JUDGED) as server:
        options = judging(rows, server.spec, "--compiled", tmp_path / "states")
        assert command(*options).status == 0
        assert len(server.bodies) == 1
    assert json.loads(Path("out.jsonl").read_text())["verdict"] == "good"


class Touches:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("attack", ["pickle", "keys", "size", "server of a call", "depth"])
def test_other_states_than_those_of_dspy_are_refused(refused, state, rows, tmp_path, attack):
    contents = {
        "pickle": pickle.dumps(Touches(tmp_path / "unpickled")),
        "keys": json.dumps(state | {"__class__": "os.system", "code": "import os"}).encode(),
        "size": json.dumps(state | {"traces": ["x" * (9 << 20)]}).encode(),
        "server of a call": (
            json.dumps(state | {"config": {"api_base": "http://127.0.0.1:9/v1"}}).encode()
        ),
        "depth": b'{"signature": ' + b"[" * 500_000,
    }
    (tmp_path / "judge.json").write_bytes(contents[attack])
    with serving(JUDGED) as server:
        options = judging(rows, server.spec, "--compiled", tmp_path / "judge.json")
        assert "judge.json: " in refused(*options)
        assert server.bodies == []


STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
HOSTILE = "mill\x1b[2J\x1b]0;owned\x07\u202efdp.exe\u2066\u200f\x9b31m\r[bold red]x[/bold red]\x00"


def saved(out, text):
    """Write a run whose every text holds ``text``."""
    source = document(text, 1)
    [chunk] = cut(source)
    chunk = chunk.model_copy(update={"headings": (text,), "metadata": {text: text}})
    texts = dict.fromkeys(("question", "answer", "language"), text)
    trail = (StepRecord(step="ask", output={text: text}),)
    save_run(
        out,
        Corpus({source.doc_id: source}, [chunk]),
        samples=[sample(text, chunk, **texts, metadata=chunk.metadata, trail=trail)],
        vectors=np.ones((1, 4), np.float32),
        rejects=[Reject(step=text, reason=text, question=text, chunk_id=chunk.chunk_id)],
        record={"source": text},
    )
    return out


def test_what_is_shown_does_not_steer_the_terminal(command, tmp_path):
    run = saved(tmp_path / "run", HOSTILE)
    for options in (("--trail",), ("--rejects",), ("--json", "--trail"), ("--json", "--rejects")):
        ended = command("show", run, *options)
        assert ended.status == 0
        assert "owned" in ended.out
        assert not STEERING.search(ended.out + ended.err)


def test_run_folders_that_lead_elsewhere_or_are_noise_are_refused(refused, tmp_path):
    run, real = tmp_path / "run", saved(tmp_path / "real", "mill") / "run.sqlite"
    run.mkdir()
    before, noise = real.read_bytes(), np.random.default_rng(7).bytes(100_000)
    for arguments in (
        ("show", run),
        ("export", run, "--format", "csv", "--out", "out"),
    ):
        (run / "run.sqlite").symlink_to(real)
        assert "run.sqlite is a symbolic link" in refused(*arguments)
        for content in (noise, before[:100] + noise):
            (run / "run.sqlite").unlink()
            (run / "run.sqlite").write_bytes(content)
            assert "run.sqlite is damaged" in refused(*arguments)
        (run / "run.sqlite").unlink()
    assert real.read_bytes() == before


def test_vectors_are_not_unpickled(tmp_path):
    run = saved(tmp_path / "run", "mill")
    (run / "vectors.npy").unlink()
    np.save(
        run / "vectors.npy",
        np.array([Touches(tmp_path / "unpickled")], dtype=object),
        allow_pickle=True,
    )
    with pytest.raises(RunError, match=r"vectors\.npy is damaged"):
        _ = open_run(run).vectors
    assert not (tmp_path / "unpickled").exists()


def without_end(head):
    """Return a fault of a server that sends until nobody reads any more, and counts the bytes."""

    def send(handler, sent):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%s\r\n" % head)
        with suppress(OSError):
            while sent[0] < 100 << 20:
                sent[0] += handler.connection.send(b" " * (1 << 16))

    return send


@pytest.mark.parametrize(
    "fault", [without_end(b""), without_end(b"Content-Length: %d\r\n" % (100 << 20))]
)
def test_answers_without_end_are_cut_off(refused, rows, tmp_path, fault):
    sent = [0]
    with serving(JUDGED) as server:
        server.fault = lambda handler: fault(handler, sent)
        assert "answers with more than 8 MB" in refused(*judging(rows, server.spec))
        assert len(server.bodies) == 1
    assert sent[0] < 24 << 20


def test_redirects_to_another_server_are_not_followed(
    refused, elsewhere, rows, tmp_path, monkeypatch
):
    monkeypatch.setenv("GROUNDSET_API_KEY", "secret")

    def redirect(handler):
        handler.send_response(307)
        handler.send_header(
            "Location", f"http://127.0.0.1:{elsewhere.getsockname()[1]}/v1/chat/completions"
        )
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with serving(JUDGED) as server:
        server.fault = redirect
        line = refused(*judging(rows, server.spec))
    assert "redirects to another address" in line
    assert "secret" not in line


@pytest.mark.parametrize(
    "written",
    [
        JUDGED.replace("90", "9" * 10_000),
        JUDGED.replace("fine", "\ud800 fine"),
        JUDGED.replace("fine", HOSTILE),
        "Reason: " * 200_000,
        "\x00" * 100_000,
    ],
)
def test_what_a_model_writes_is_a_verdict_or_none(command, rows, tmp_path, written):
    with serving(lambda body: JUDGED if len(body["messages"]) == 1 else written) as server:
        ended = command(*judging(rows, server.spec, "--quiet"))
    assert ended.status == 0, ended
    assert json.loads(Path("out.jsonl").read_text("utf-8"))["verdict"] in ("good", "bad", None)
    assert not STEERING.search(ended.out + ended.err)


def test_weights_of_random_bytes_are_refused(refused, rows, tmp_path):
    noise = np.random.default_rng(7).bytes(1 << 20)
    for name, data in (("noise.gguf", noise), ("header.gguf", b"GGUF\3\0\0\0" + noise)):
        (tmp_path / name).write_bytes(data)
        line = refused(*judging(rows, tmp_path / name))
        assert f"{name}: llama.cpp cannot use this file" in line
