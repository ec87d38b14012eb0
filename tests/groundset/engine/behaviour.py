"""Digests of prompts, and of the order of model calls, for fixed input.

Run as a script to write ``behaviour.json`` after raising ``BEHAVIOUR`` in ``groundset/engine/identity.py``:

    python tests/groundset/engine/behaviour.py
"""

# ruff: noqa: E402 - a script has to extend the import path itself
import hashlib
import json
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from dspy.lm15 import Message, Request, Response, Usage

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]

from free_writer import Writer, write_documents
from scripted_run import CRITICS, Encoder, lm_opener

from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.identity import BEHAVIOUR
from groundset.engine.models import Openers
from groundset.runtime.adapter import PlainTextAdapter
from programs.steps import STEPS

EXPECTED = Path(__file__).with_suffix(".json")
_DOCUMENTS = ("kestrin-cooperative-report.md", "tidepool-job-queue.md")
_RUNS = (
    ("evolved", "sentence"),
    ("evolved", "guided"),
    ("evolved", "free"),
    ("multi", "sentence"),
    ("roundtrip", "sentence"),
    ("profiled", "free"),
)


class _Echo:
    """Returns a question about the topic of the prompt, or its answer."""

    def complete(self, request: Request) -> Response:
        shown = str(request.messages[-1].parts[0].text)
        fields = dict(re.findall(r"(?m)^([A-Z][a-z ]+): (.*)$", shown))
        topic = fields.get("Topic") or fields.get("Opening")
        text = f"{fields.get('Opening') or 'What is told of'} {topic}?" if topic else fields.get("Answer", shown[-20:])
        usage = Usage(input_tokens=10, output_tokens=3, total_tokens=13, cache_read_tokens=6)
        return Response(
            id=None, model=request.model, message=Message.assistant(text), finish_reason="stop", usage=usage
        )


def behaviour() -> dict[str, str]:
    """Return digests of the prompts of all steps, and of the work of runs in all modes and with all recipes."""
    prompts = {f"prompt of {name}": _digest(_prompt(name)) for name in STEPS}
    return prompts | {f"work of {recipe}, {mode}": _digest(_work(recipe, mode)) for recipe, mode in _RUNS}


def renew() -> None:
    """Write the expected digests.

    Raises:
        SystemExit: a digest has changed and ``BEHAVIOUR`` has not. New steps and runs do not count.
    """
    before, now = json.loads(EXPECTED.read_text("utf-8")), behaviour()
    has_changed = any(now.get(name) != digest for name, digest in before["digests"].items())
    if has_changed and before["version"] == BEHAVIOUR:
        raise SystemExit("raise BEHAVIOUR in groundset/engine/identity.py first")
    EXPECTED.write_text(json.dumps({"version": BEHAVIOUR, "digests": now}, indent=1) + "\n", "utf-8")


def _prompt(name: str) -> Any:
    step = STEPS[name]
    inputs = {field: f"some {field}" for field in step.signature.input_fields}
    outputs = {field: None for field in step.signature.output_fields}
    return [PlainTextAdapter().format(step.signature, [], inputs), dict(step.limits), list(outputs)]


def _work(recipe: str, mode: str) -> Any:
    """Return the attempts, steps, call digests and samples of a run in order."""
    is_free = mode == "free"
    with tempfile.TemporaryDirectory() as aside:
        docs, out = Path(aside) / "docs", Path(aside) / "run"
        if is_free:
            write_documents(docs)
        else:
            docs.mkdir()
            for name in _DOCUMENTS:
                shutil.copy(ROOT / "data" / "samples" / name, docs)
        given: Mapping[str, Any] = {
            "documents": (docs,), "lm": "scripted", "size": 6, "chunk_size": 600, "min_length": 50,
            "recipe": recipe, "mode": mode, "compiled": "none",
            **({"parser": "none"} if is_free else {"critic": "head"}),
            **({} if recipe in ("profiled", "roundtrip") else {"max_rank": 0}),
        }  # fmt: skip
        critics = None if is_free else lambda spec, **parts: CRITICS
        opener = lm_opener(Writer() if is_free else _Echo())
        run_generation(make_config(given), out, openers=Openers(opener, Encoder, critics))
        with closing(sqlite3.connect(out / "run.sqlite")) as database:
            return [
                database.execute(statement).fetchall()
                for statement in (
                    "SELECT number, contexts, wanted, round, seed, accepted, put_off FROM attempts ORDER BY number",
                    "SELECT attempt, seq, step, candidate, verdict FROM steps ORDER BY attempt, seq",
                    "SELECT digest FROM calls ORDER BY digest",
                    "SELECT record ->> 'question', record ->> 'answer' FROM samples ORDER BY position",
                )
            ]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


if __name__ == "__main__":
    renew()
