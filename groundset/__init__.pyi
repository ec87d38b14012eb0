"""The types of the public names; `python tests/groundset/test_documentation.py` renews the functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import dspy
from groundset.evaluation import Comparison
from groundset.corpus.corpus import Corpus
from groundset.exports.sets import EvaluationSet
from groundset.exports.export import Exported
from groundset.exports.hub import Pushed
from groundset.compile_report import Report
from groundset.run.run import Run as _Run
from groundset.programs.errors import AnswerError as AnswerError
from groundset.programs.errors import ChecksumError as ChecksumError
from groundset.programs.types import Chunk as Chunk
from groundset.programs.errors import CompileError as CompileError
from groundset.programs.types import Document as Document
from groundset.programs.given import Given as Given
from groundset.programs.errors import GroundsetError as GroundsetError
from groundset.programs.guided import Guided as Guided
from groundset.programs.errors import HubError as HubError
from groundset.programs.errors import InputError as InputError
from groundset.programs.errors import LabelError as LabelError
from groundset.programs.errors import ModelError as ModelError
from groundset.programs.onechunk import OneChunk as OneChunk
from groundset.programs.types import Reject as Reject
from groundset.programs.errors import RunError as RunError
from groundset.programs.types import Sample as Sample
from groundset.programs.chunks import SeveralChunks as SeveralChunks
from groundset.programs.staged import Staged as Staged
from groundset.programs.errors import StateError as StateError
from groundset.programs.errors import TrackingError as TrackingError
from groundset.programs.errors import UnknownModelError as UnknownModelError
from groundset.programs.errors import UnreachableModelError as UnreachableModelError
from groundset.api import lm as lm
from groundset.optimizers import metrics as metrics
from groundset.labelling import step as step

__version__: str
__all__: list[str]

def open_run(folder: str | Path) -> Run: ...

class Run(_Run):
    def filter(self, predicate: Callable[[Sample], bool]) -> Run: ...
    def save(self, out: str | Path) -> Run: ...
    # What follows is made from the options.
    def align(
        self,
        documents: str | Path | Run | Sequence[str | Path | Run] = ...,
        *,
        exclude: str | Sequence[str] = ...,
        chunks: str | Path | Run | None = ...,
        chunker: Literal['recursive', 'word', 'token'] = ...,
        chunk_size: int | None = ...,
        chunk_overlap: int = ...,
        merge: int = ...,
        min_length: int = ...,
        readers: str | Mapping[str, str] | Mapping[str, Callable[[bytes], str]] = ...,
        columns: str | Mapping[Literal['question', 'answer'], str] = ...,
        embedder: str = ...,
        engine: str = ...,
        verbose: bool = ...,
        out: str | Path | Run,
        max_lost: float = ...,
        quiet: bool = ...,
    ) -> Run: ...
    def export(
        self,
        format: str | Callable[[EvaluationSet, Path], object],
        out: str | Path | Run,
        *,
        splits: str | Mapping[str, float] | None = ...,
        signed: bool = ...,
        tracking: str | None = ...,
        track_texts: bool = ...,
    ) -> Exported: ...
    def push(
        self,
        repo: str,
        *,
        splits: str | Mapping[str, float] | None = ...,
        signed: bool = ...,
        licence: str,
        private: bool = ...,
        replace_card: bool = ...,
        dry_run: bool = ...,
        out: str | Path | Run | None = ...,
    ) -> Pushed: ...
    def report(
        self,
        out: str | Path | Run | None = ...,
        *,
        queries: str | Path | Run | None = ...,
    ) -> Path | None: ...
    def roundtrip(
        self,
        *,
        retriever: str = ...,
        against: str | Path | Run | None = ...,
        ranking: str | Path | Run | Sequence[str | Path | Run] = ...,
        measure: Literal['recall@1', 'recall@5', 'recall@10', 'MRR', 'nDCG@10'] = ...,
        baseline: str | Path | Run | None = ...,
        out: str | Path | Run | None = ...,
        quiet: bool = ...,
    ) -> Comparison: ...

def align(
    run: str | Path | Run,
    documents: str | Path | Run | Sequence[str | Path | Run] = ...,
    *,
    exclude: str | Sequence[str] = ...,
    chunks: str | Path | Run | None = ...,
    chunker: Literal['recursive', 'word', 'token'] = ...,
    chunk_size: int | None = ...,
    chunk_overlap: int = ...,
    merge: int = ...,
    min_length: int = ...,
    readers: str | Mapping[str, str] | Mapping[str, Callable[[bytes], str]] = ...,
    columns: str | Mapping[Literal['question', 'answer'], str] = ...,
    embedder: str = ...,
    engine: str = ...,
    verbose: bool = ...,
    out: str | Path | Run,
    max_lost: float = ...,
    quiet: bool = ...,
) -> Run: ...
def chunk(
    documents: str | Path | Run | Sequence[str | Path | Run] = ...,
    *,
    exclude: str | Sequence[str] = ...,
    chunks: str | Path | Run | None = ...,
    chunker: Literal['recursive', 'word', 'token'] = ...,
    chunk_size: int | None = ...,
    chunk_overlap: int = ...,
    merge: int = ...,
    min_length: int = ...,
    readers: str | Mapping[str, str] | Mapping[str, Callable[[bytes], str]] = ...,
    columns: str | Mapping[Literal['question', 'answer'], str] = ...,
    embedder: str = ...,
    engine: str = ...,
    verbose: bool = ...,
) -> Corpus: ...
def compile(
    steps: str | Sequence[str],
    *,
    optimizer: str | dspy.Teleprompter = ...,
    metric: str | Callable[..., Any] | None = ...,
    lm: str | dspy.LM | None = ...,
    prompt_lm: str | dspy.LM | None = ...,
    critic_lm: str | dspy.LM | None = ...,
    labels: str | Path | Run | Sequence[str | Path | Run] = ...,
    out: str | Path | Run = ...,
    rows: int = ...,
    budget_calls: int = ...,
    target_precision: float = ...,
    embedder: str = ...,
    workers: int = ...,
    seed: int = ...,
    keep: bool = ...,
    track: bool = ...,
    track_texts: bool = ...,
    tracking: str | None = ...,
    verbose: bool = ...,
    quiet: bool = ...,
) -> list[Report]: ...
def export(
    runs: str | Path | Run | Sequence[str | Path | Run],
    format: str | Callable[[EvaluationSet, Path], object],
    out: str | Path | Run,
    *,
    splits: str | Mapping[str, float] | None = ...,
    signed: bool = ...,
    tracking: str | None = ...,
    track_texts: bool = ...,
) -> Exported: ...
def generate(
    documents: str | Path | Run | Sequence[str | Path | Run] = ...,
    *,
    exclude: str | Sequence[str] = ...,
    chunks: str | Path | Run | None = ...,
    chunker: Literal['recursive', 'word', 'token'] = ...,
    chunk_size: int | None = ...,
    chunk_overlap: int = ...,
    merge: int = ...,
    min_length: int = ...,
    readers: str | Mapping[str, str] | Mapping[str, Callable[[bytes], str]] = ...,
    columns: str | Mapping[Literal['question', 'answer'], str] = ...,
    embedder: str = ...,
    engine: str = ...,
    verbose: bool = ...,
    out: str | Path | Run,
    size: int | None = ...,
    questions: str | Path | Run | str | None = ...,
    read: int = ...,
    recipe: str | dspy.Module | type[dspy.Module] = ...,
    lm: str | dspy.LM = ...,
    critic_lm: str | dspy.LM | None = ...,
    guided: bool | None = ...,
    critic: str | dspy.Module | type[dspy.Module] | None = ...,
    chunk_critic: Literal['head', 'lm'] = ...,
    mix: str | Mapping[str, float] = ...,
    kinds: str | Mapping[str, float] = ...,
    about: str = ...,
    answers: Literal['short', 'open'] = ...,
    personas: str | Sequence[str] = ...,
    users: str = ...,
    like: str | Sequence[str] = ...,
    language: str | None = ...,
    compiled: str | dspy.Module | type[dspy.Module] = ...,
    reranker: str | None = ...,
    prefer: str = ...,
    parser: str = ...,
    max_rank: int | None = ...,
    hard: bool = ...,
    seed: int = ...,
    workers: int = ...,
    timeout: float = ...,
    retries: int = ...,
    budget_calls: int | None = ...,
    track: bool = ...,
    track_texts: bool = ...,
    tracking: str | None = ...,
    quiet: bool = ...,
    texts: str | str | Mapping[str, Any] | Sequence[str | str | Mapping[str, Any]] = ...,
    program: str | dspy.Module | type[dspy.Module] | None = ...,
) -> Run: ...
def import_files(
    files: str | Path | Run | Sequence[str | Path | Run],
    *,
    out: str | Path | Run,
    format: Literal['autorag', 'csv', 'jsonl'],
    embedder: str = ...,
    quiet: bool = ...,
) -> Run: ...
def judge(
    kind: Literal['chunks', 'questions'],
    rows: Iterable[Mapping[str, Any]],
    *,
    critic_lm: str | None = ...,
    compiled: str = ...,
    embedder: str = ...,
    workers: int = ...,
    quiet: bool = ...,
) -> list[str | Mapping[str, Any]]: ...
def push(
    run: str | Path | Run,
    repo: str,
    *,
    splits: str | Mapping[str, float] | None = ...,
    signed: bool = ...,
    licence: str,
    private: bool = ...,
    replace_card: bool = ...,
    dry_run: bool = ...,
    out: str | Path | Run | None = ...,
) -> Pushed: ...
def report(
    run: str | Path | Run,
    out: str | Path | Run | None = ...,
    *,
    queries: str | Path | Run | None = ...,
) -> Path | None: ...
def roundtrip(
    run: str | Path | Run,
    *,
    retriever: str = ...,
    against: str | Path | Run | None = ...,
    ranking: str | Path | Run | Sequence[str | Path | Run] = ...,
    measure: Literal['recall@1', 'recall@5', 'recall@10', 'MRR', 'nDCG@10'] = ...,
    baseline: str | Path | Run | None = ...,
    out: str | Path | Run | None = ...,
    quiet: bool = ...,
) -> Comparison: ...
