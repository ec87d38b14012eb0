"""Preparation of runs and judging are the same in this process and on Ray."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import scripted_run

from groundset.corpus.corpus import CorpusOptions, build_corpus
from groundset.data_files import data_path
from groundset.engine import generation, judging, preparation
from groundset.engine.assembly import open_scorer
from groundset.engine.compiled import shipped_head
from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers, languages_with
from groundset.engine.preparation import ChunkWork, Scoring, prepare_slices, unprepared
from groundset.executors import LOCAL, Executor
from groundset.retrieval.embedder import load_embedder
from groundset.runtime.parser import load_parser
from groundset.store.run_store import RunStore
from programs.critics import open_critics
from programs.critics.remembering import CachingEncoder
from programs.errors import InputError


@pytest.mark.model
def test_readings_vectors_and_scores_are_the_same_on_ray(
    on_ray: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "_FIRST_SLICE", 16)
    monkeypatch.setattr(preparation, "_SLICE", 16)
    corpus = build_corpus([data_path("samples")], CorpusOptions(chunk_size=600))
    chunks, embedder, parser = corpus.chunks[:32], load_embedder("all-minilm-l6-v2"), load_parser("en-core-web-sm")
    head = shipped_head("chunk", embedder.sha256)
    scoring = Scoring(partial(open_scorer, open_critics, "head", {"chunk": head}, {}, {}))
    work = ChunkWork(parser, embedder, scoring)
    found: list[tuple[Any, ...]] = []
    for name, where in (("local", LOCAL), ("other", on_ray)):
        with RunStore.create(tmp_path / name, meta={}, documents=corpus.documents, chunks=chunks) as store:
            encoder, languages = CachingEncoder(embedder), languages_with(parser)
            parts = (store, chunks, unprepared(store), work, encoder, languages, where)
            for _ in prepare_slices(*parts, lambda _: None, lambda: None):
                pass
            passages = [context.passage for context in store.contexts().values()]
            vectors = [rows.tobytes() for rows in (store.vectors(), encoder.encode(passages))]
            found.append((store.contexts(), list(store.results.rejects()), vectors))
    assert found[0] == found[1]


def test_run_is_the_same_on_ray_and_can_be_continued_elsewhere(
    on_ray: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = scripted_run.write_documents(tmp_path / "docs")
    given = {"documents": (docs,), "chunk_size": 300, "min_length": 50, "compiled": "none"}
    openers: Any = Openers(scripted_run.lm_opener(scripted_run.ScriptedEngine()), scripted_run.Encoder)
    rows: list[bytes] = []
    with monkeypatch.context() as patch:
        for where in (LOCAL, on_ray):
            patch.setattr(generation, "open_executor", lambda engine, where=where: nullcontext(where))
            out = tmp_path / f"run-{len(rows)}"
            config = make_config({**given, "size": 2})
            result = run_generation(config, out, openers=openers, recipe=scripted_run.scripted_recipe())
            assert result.ending == "complete"
            rows.append((out / "samples.jsonl").read_bytes())
    assert rows[0] == rows[1]
    larger = make_config({**given, "size": 3})
    result = run_generation(larger, out, openers=openers, recipe=scripted_run.scripted_recipe())
    assert result.ending == "complete"


def test_wrong_engine_leaves_no_run(tmp_path: Path) -> None:
    docs = scripted_run.write_documents(tmp_path / "docs")
    config = make_config({"documents": (docs,), "size": 2})
    with pytest.raises(InputError, match="--engine spark: choose one of local, ray"):
        run_generation(config, tmp_path / "run", engine="spark")
    assert not (tmp_path / "run").exists()


def test_only_the_head_judges_on_ray(on_ray: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "open_executor", lambda spec: nullcontext(on_ray))
    with pytest.raises(InputError, match="--engine ray: the critic verdict asks a language model; only head uses it"):
        judging.judge("chunks", [{"text": "The ferry."}], critic="verdict", lm="any", engine="ray", quiet=True)


@pytest.mark.model
def test_head_judges_the_same_on_ray(on_ray: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: Sequence[Any] = [{"text": f"The mill was built in {year}."} for year in range(1800, 1860)]
    local = judging.judge("chunks", rows, quiet=True)
    monkeypatch.setattr(judging, "open_executor", lambda spec: nullcontext(on_ray))
    assert judging.judge("chunks", rows, engine="any", quiet=True) == local
