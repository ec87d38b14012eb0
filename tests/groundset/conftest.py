import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
from dspy.lm15 import Message, Request, Response, Usage

from groundset.compiling import compiler, resources
from groundset.data_files import data_path
from groundset.runtime.lms import LanguageModel

# What scripts a run is a plain module beside the tests of runs, what a report tells of one beside those of reports.
sys.path[:0] = [str(Path(__file__).parent / name) for name in ("engine", "sets", "report")]

_LABELS = ("chunks.jsonl", "questions.jsonl")
_LABELS_EACH = 25  # good and bad ones of a split


@pytest.fixture(autouse=True, scope="session")
def one_parser() -> Iterator[None]:
    """Load the weights of a parser once for all runs of a process, which takes longer than most runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spacy, "load", functools.cache(spacy.load))
        yield


@pytest.fixture
def few_labels(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile with a few English labels of each split and label: reading all takes half a minute."""
    folder = tmp_path_factory.mktemp("labels")
    for name in _LABELS:
        kept: dict[tuple[str, str], list[str]] = {}
        for line in data_path("labels", name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["language"] == "en":
                kept.setdefault((row["split"], row["label"]), []).append(line)
        lines = [line for each in kept.values() for line in each[:_LABELS_EACH]]
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    files = [folder / name for name in _LABELS]
    monkeypatch.setattr(resources, "label_files", lambda own: [*files, *own])


class TimidEngine:
    """Never finds an answer, which is right for half of the labelled rows; raises an error at one of its calls."""

    def __init__(self, fail_at: int = 0, error: BaseException | type[BaseException] = KeyboardInterrupt) -> None:
        self.calls, self.fail_at, self.error = 0, fail_at, error

    def complete(self, request: Request) -> Response:
        self.calls += 1
        if self.calls == self.fail_at:
            raise self.error
        usage = Usage(input_tokens=10, output_tokens=2, total_tokens=12)
        said = Message.assistant("not stated")
        return Response(id=None, model="local/x", message=said, finish_reason="stop", usage=usage)


@pytest.fixture
def compile_for(monkeypatch: pytest.MonkeyPatch, word_encoder: Callable[[str], Any]) -> Callable[..., TimidEngine]:
    """Let compiles use a scripted model and the embedder that the shipped heads were fitted with."""
    shipped = json.loads(data_path("compiled", "head", "judge.json").read_text(encoding="utf-8"))

    def use(fail_at: int = 0, error: BaseException | type[BaseException] = KeyboardInterrupt) -> TimidEngine:
        engine = TimidEngine(fail_at, error)
        monkeypatch.setattr(resources, "open_lm", lambda spec, journal: LanguageModel(
            engine, model="local/w", name=spec, sha256="w" * 64, journal=journal
        ))  # fmt: skip
        monkeypatch.setattr(resources, "load_embedder", lambda name: word_encoder(shipped["model_sha256"]))
        monkeypatch.setattr(compiler, "check_server", lambda text: None)
        return engine

    return use
