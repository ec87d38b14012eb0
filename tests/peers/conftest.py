"""A run with unusual texts, and a fixture to load its exports with other tools."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evaluation_sets import run_of
from evaluation_sets import sample as plain_sample

from groundset.exports.formats import EXPORTS
from groundset.exports.sets import EvaluationSet, joined
from groundset.programs.types import Chunk, Document, Retrieval, Sample

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parents[1] / ".venv-peers"
DOCUMENTS, CHUNKS = 10, 4
SILENCED = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "RAGAS_DO_NOT_TRACK": "true",
}
# Files are opened in the encoding of the machine here, which is ASCII: whoever does not say UTF-8
# would stumble.
PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
AWKWARD = (
    "“quoted”, 'quoted' and \"quoted\"",
    "line\u2028separator and paragraph\u2029separator",
    "a\ttab, a\r\nline end, a back\\slash",
    "渡船 паром עברה 🚢 e\u0301",
    "<script>alert(1)</script> &amp; [DEEPEVAL:IMAGE:x] {{ braces }} %s",
)
Load = Callable[..., Any]


def document(number: int) -> tuple[Document, list[Chunk]]:
    """Return a document of some chunks, each with something awkward in it."""
    about = {
        "doc_id": f"doc-{number}",
        "path": f"folder {number}/doc, “{number}”.md",
        "title": f"Title {number} ☂",
    }
    chunks, start = [], 0
    for place in range(CHUNKS):
        text = f"Passage {place} of document {number}: {AWKWARD[(number + place) % len(AWKWARD)]}."
        where = {"start": start, "end": start + len(text), "text": text}
        chunks.append(Chunk(chunk_id=f"doc-{number} {place}", **about, **where))
        start += len(text) + 1
    return Document(text="\n".join(chunk.text for chunk in chunks), **about), chunks


def sample(name: str, contexts: list[Chunk], groups: list[list[str]]) -> Sample:
    """Return a sample; its rank is missing where it rests on several chunks."""
    first, one = contexts[0], len(contexts) == 1
    found = Retrieval(
        rank=1 if one else None, retrieved_id=first.chunk_id, retrieved_content=first.text, score=1
    )
    return plain_sample(
        name,
        *contexts,
        question=f"{'=' if name == 'q-0' else ''}What of “{name}”, at 9:00\u2028in 渡船?",
        answer=f"It is {name}, {AWKWARD[3]}.",
        evolution="simple" if one else "multi_context",
        metadata={"kind": "time"} if one else {},
        retrieval_gt=tuple(map(tuple, groups)),
        retrieval=found,
    )


@pytest.fixture(scope="session")
def content() -> EvaluationSet:
    """Return a question about a chunk of each document, of which one has an alternative and one
    needs two chunks.
    """
    made = [document(number) for number in range(DOCUMENTS)]
    chunks = [chunk for _, several in made for chunk in several]
    samples = [
        sample(f"q-{number}", [chunk], [[chunk.chunk_id]])
        for number, chunk in enumerate(chunks[::CHUNKS])
    ]
    samples[1] = sample("q-1", [chunks[4]], [[chunks[4].chunk_id, chunks[5].chunk_id]])
    samples[2] = sample("q-2", [chunks[8], chunks[9]], [[chunks[8].chunk_id], [chunks[9].chunk_id]])
    return joined([run_of(samples, [one for one, _ in made], chunks)])


@pytest.fixture
def load(content: EvaluationSet, tmp_path: Path) -> Load:
    """Return a function that exports the set and returns what a tool reads, in the environment
    ``peer`` or ours.
    """

    def loaded(format, loader, *, peer=None):
        python = ENVIRONMENTS / peer / "bin" / "python" if peer else Path(sys.executable)
        assert python.exists(), f"{peer} is not there: make test-peers"
        out, hosts, read = tmp_path / format, tmp_path / "hosts", tmp_path / "read.json"
        out.mkdir()
        hosts.touch()
        EXPORTS[format].write_to(out, content)
        environment = {
            **SILENCED,
            **PLAIN,
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "PYTHONPATH": str(HERE / "guard"),
            "GROUNDSET_TEST_HOSTS": str(hosts),
        }
        # -P: the folder of the script, whose files are called like the tools, is not on the path.
        command = [python, "-P", HERE / "loaders" / f"{loader}.py", out, read]
        ran = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert hosts.read_text() == "", "it asked for other machines"
        return json.loads(read.read_text())

    return loaded
