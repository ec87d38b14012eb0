"""Comparison of retrievers with a real embedder and real documents, and `groundset roundtrip`."""

import csv
import functools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from cross_encoders import save_cross_encoder
from qdrant_server import serving_qdrant

from groundset import commands
from groundset.corpus.corpus import CorpusOptions, build_corpus
from groundset.data_files import data_path
from groundset.engine.config import make_config
from groundset.retrieval.embedder import load_embedder
from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.reranker import load_reranker
from groundset.retrieval.stores import open_store
from groundset.retrieval_eval.compare import compare
from groundset.retrieval_eval.configs import retriever_configs
from groundset.retrieval_eval.search import SearchOptions
from groundset.run import Run
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.errors import InputError
from programs.types import Chunk, Sample

pytestmark = pytest.mark.model
SENTENCE = re.compile(r"[A-Z][^.!?\n]{60,200}[.!?]")
SAMPLES = sorted(path for path in data_path("samples").iterdir() if path.suffix in (".md", ".txt"))[:6]
MINILM = "all-minilm-l6-v2"
Groups = tuple[tuple[Chunk, ...], ...]

load = functools.cache(load_embedder)


class Monitor:
    """Records the progress of a comparison."""

    def __init__(self):
        self.notes = []
        self.counts = []

    def note(self, message):
        self.notes.append(message)

    def phase(self, doing, total):
        self.notes.append(f"{doing}: {total}")
        return nullcontext(self.counts.append)


def make_run(
    folder: Path,
    documents: Sequence[Path],
    ask: Callable[[Sequence[Chunk]], Iterable[tuple[str, Groups, str | None]]],
    options: CorpusOptions,
    **configuration: Any,
) -> None:
    """Store a run; ``ask`` yields questions with the groups of chunks they need and the focus."""
    embedder = load(MINILM)
    corpus = build_corpus(documents, options)
    vectors = embedder.encode([chunk.text for chunk in corpus.chunks])
    ids = [chunk.chunk_id for chunk in corpus.chunks]
    index = ChunkIndex(corpus.chunks, open_store("faiss", ids, vectors), embedder.encode)
    given = {"embedder": embedder.name, "documents": tuple(documents), "max_rank": 0, **configuration}
    config = make_config({**options.model_dump(exclude={"duplicate_threshold"}), **given})
    meta = {
        "configuration": config.to_dict(),
        "models": {
            **{role: {"name": role} for role in ("lm", "parser", "critic")},
            "embedder": {"name": embedder.name, "sha256": embedder.sha256},
        },
        "compiled": {},
        "digest": "abc",
    }
    with RunStore.create(folder, meta=meta, documents=corpus.documents, chunks=corpus.chunks) as store:
        store.store_column("vector", zip(ids, (row.tobytes() for row in vectors), strict=True))
        for number, (question, groups, focus) in enumerate(ask(corpus.chunks)):
            gt = tuple(tuple(chunk.chunk_id for chunk in group) for group in groups)
            sample = Sample(
                id=question, question=question, answer="answer", evolution="simple", language="en",
                contexts=tuple(group[0] for group in groups), retrieval_gt=gt, retrieval=index.rank(question, gt),
                probability=0.9, trail=(), metadata={"focus": focus} if focus else {},
            )  # fmt: skip
            vector = np.asarray(embedder.encode([question])[0])
            store.results.decide(number, Verdict("simple", False), sample, vector, ())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run whose questions are words of a sentence of each chunk; one more needs two chunks, another has no focus."""

    def ask(chunks):
        for chunk in chunks:
            if found := SENTENCE.search(chunk.text):
                words = found.group().split()
                yield " ".join(words[len(words) // 3 :][:5]), ((chunk,),), found.group()
        yield "the ferry and the clocks", ((chunks[0],), (chunks[-1], chunks[-2])), None
        yield chunks[3].text[:200], ((chunks[3],),), None

    out = tmp_path_factory.mktemp("comparing") / "run"
    make_run(out, SAMPLES, ask, CorpusOptions(chunk_size=800, chunk_overlap=80))
    return out


@pytest.fixture(scope="module")
def first_token(tmp_path_factory):
    """A worse embedder: the same weights with first-token pooling."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling

    from groundset.models import pull

    model = SentenceTransformer(str(pull("all-minilm-l6-v2")), device="cpu")
    out = tmp_path_factory.mktemp("embedder") / "first-token"
    SentenceTransformer(modules=[model[0], Pooling(384, pooling_mode="cls")], device="cpu").save(str(out))
    return str(out)


def searched(folder, embedders=(), chunkers=(), sizes=(), *, store="faiss", load=load):
    monitor = Monitor()
    run = Run.loaded(folder)
    configs = retriever_configs(make_config(run.settings["configuration"]), embedders, chunkers, sizes)
    return compare(run, configs, SearchOptions(load, load_reranker, store), monitor=monitor), monitor


def test_own_retriever_reuses_the_vectors_of_the_run(folder):
    def refuse(name):
        raise AssertionError("no embedder is needed for the run's own retriever")

    comparison, monitor = searched(folder, load=refuse)
    [own] = comparison.results
    assert monitor.notes == []
    assert own.embedding is None
    with RunStore.read(folder) as run:
        chunks, vectors = run.chunks(), run.vectors()
    index = ChunkIndex(chunks, open_store("faiss", [chunk.chunk_id for chunk in chunks], vectors), load(MINILM).encode)
    assert len(comparison.samples) > 25
    for sample, finding in zip(comparison.samples, own.findings, strict=True):
        found = index.rank(sample.question, sample.retrieval_gt)
        assert finding.first.chunk_id == found.retrieved_id
        # An overlapping neighbour may also contain the sentence.
        assert finding.score >= found.score
        assert found.rank is None or finding.rank <= found.rank
    assert own.left_out == 0


def test_rank_of_several_needed_chunks(folder):
    comparison, _ = searched(folder)
    [place] = [place for place, sample in enumerate(comparison.samples) if len(sample.retrieval_gt) == 2]
    sample, finding = comparison.samples[place], comparison.results[0].findings[place]
    with RunStore.read(folder) as run:
        chunks, vectors = run.chunks(), run.vectors()
        [question] = [row for number, row in enumerate(run.results.vectors()) if number == place]
    order = [chunks[index].chunk_id for index in np.argsort(-(vectors @ question), kind="stable")]
    ranks = [min(order.index(name) for name in group) + 1 for group in sample.retrieval_gt]
    assert finding.rank == (max(ranks) if max(ranks) <= 50 else None)
    assert finding.score == int(min(ranks) == 1)


def test_chunkers_and_embedders_are_combined(folder, first_token):
    comparison, monitor = searched(folder, [MINILM, first_token], ["recursive", "token"], [200])
    found = [(r.config.embedder.rsplit("/", 1)[-1], r.config.chunker, r.config.size) for r in comparison.results]
    assert found == [
        ("all-minilm-l6-v2", "recursive", "800 characters"),
        ("all-minilm-l6-v2", "recursive", "200 characters"),
        ("all-minilm-l6-v2", "token", "200 tokens"),
        ("first-token", "recursive", "200 characters"),
        ("first-token", "token", "200 tokens"),
    ]
    own, small, tokens, *worse = comparison.results
    assert [result.chunks for result in worse] == [small.chunks, tokens.chunks]
    assert small.chunks > own.chunks
    assert sum(note.startswith("Chunking 6 documents") for note in monitor.notes) == 2
    assert sum(monitor.counts) == sum(result.chunks for result in (small, tokens, *worse))
    assert all(result.embedding > 0 for result in (small, tokens, *worse))
    for good, bad in zip((small, tokens), worse, strict=True):
        assert good.scores.reciprocal.mean() > bad.scores.reciprocal.mean()
        assert len(good.findings) == len(comparison.samples)
    assert any(found.is_significant for found in comparison.differences if {found.better, found.worse} == {1, 3})


def test_vector_stores_agree(folder, tmp_path):
    found = [
        searched(folder, sizes=[400], store=store)[0] for store in ("faiss", "qdrant", f"qdrant:{tmp_path / 'vectors'}")
    ]
    for other in found[1:]:
        for one, another in zip(found[0].results, other.results, strict=True):
            assert one.findings == another.findings
        assert other.differences == found[0].differences


def test_changed_embedder_weights_are_refused(folder):
    class Other:
        sha256 = "0" * 64

    with pytest.raises(InputError, match="its weights differ"):
        searched(folder, sizes=[400], load=lambda name: Other())


def test_rows(folder):
    comparison, _ = searched(folder)
    rows = comparison.results[0].rows(comparison.samples)
    columns = "id question context retrieved_content retrieved_id score rank reciprocal_rank"
    assert list(rows[0]) == columns.split()
    for row, finding in zip(rows, comparison.results[0].findings, strict=True):
        assert row["reciprocal_rank"] == pytest.approx(1 / finding.rank if finding.rank else 0, abs=1e-6)


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)

    def run(*arguments):
        with pytest.raises(SystemExit) as leaving:
            commands.main(["roundtrip", *map(str, arguments)])
        return leaving.value.code, capsys.readouterr()

    return run


def test_roundtrip_command(run, folder, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # set by pytest-xdist
    status, ran = run(folder, "--chunk-size", "800,300", "--out", tmp_path / "rows.csv")
    assert status == 0, ran.err
    head, own, small, *lines = ran.out.splitlines()
    assert head.split("  ")[0] == "retriever"
    assert own.startswith("dense      all-minilm-l6-v2  recursive  800 characters")
    assert small.startswith("dense      all-minilm-l6-v2  recursive  300 characters")
    assert len(re.findall(r"\d\.\d\d \(\d\.\d\d to \d\.\d\d\)", own)) == 3
    assert "significant differences with n=" in ran.out or "is better than" in ran.out
    assert "questions about 6 documents; 95 % intervals resample questions" in lines[-1]
    assert "Chunking 6 documents: recursive, 300 characters.\nEmbedding chunks with all-minilm-l6-v2: " in ran.err
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["score"] for row in rows} == {"0", "1"}

    status, ran = run(folder, "--json", "--out", tmp_path / "rows.jsonl", "--vector-store", "qdrant")
    assert status == 0, ran.err
    printed = json.loads(ran.out)
    written = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in written] == [row["id"] for row in rows]
    assert printed["questions"] == len(rows)
    [own] = printed["settings"]
    assert own["own"]
    assert own["hit_at_1"][0] == pytest.approx(np.mean([row["score"] for row in written]), abs=1e-4)
    assert own["reciprocal_rank"][0] == pytest.approx(np.mean([row["reciprocal_rank"] for row in written]), abs=1e-4)
    assert "--embedder" in printed["notes"][-1]


def test_reranking(run, folder, tmp_path):
    cross = save_cross_encoder(tmp_path / "cross")
    arguments = [folder, "--retriever", "dense,bm25", "--rerank", cross, "--rerank-depth", 5, "--json"]
    status, ran = run(*arguments)
    assert status == 0, ran.err
    rows = json.loads(ran.out)["settings"]
    assert [(row["retriever"], row["reranker"]) for row in rows] == [
        (name, reranker) for reranker in (None, cross) for name in ("dense", "bm25")
    ]
    for plain, reranked in zip(rows[:2], rows[2:], strict=True):
        assert reranked["hit_at_5"] == plain["hit_at_5"]
        assert reranked["hit_at_1"][0] < plain["hit_at_1"][0]  # the weights are random
    assert f"Reranking dense with {cross}: " in ran.err
    again = json.loads(run(*arguments)[1].out)["settings"]
    assert [row["reciprocal_rank"] for row in again] == [row["reciprocal_rank"] for row in rows]
    status, ran = run(folder, "--rerank", cross)
    assert "reranker" in ran.out


def test_existing_stores(run, folder, tmp_path, monkeypatch):
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    with RunStore.read(folder) as stored:
        chunks, vectors = stored.chunks(), stored.vectors()
    ids = [chunk.chunk_id for chunk in chunks]
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.concatenate([vectors, vectors[:2]]))
    faiss.write_index(index, str(tmp_path / "docs.faiss"))
    (tmp_path / "docs.faiss.ids.json").write_text(json.dumps([*ids, "x", "y"]), encoding="utf-8")
    with serving_qdrant() as server:
        server.fill("docs", vectors, [{"text": chunk.text} for chunk in chunks])
        stores = [f"faiss:{tmp_path / 'docs.faiss'}", server.retriever("docs")]
        status, ran = run(folder, "--retriever", ",".join(stores), "--payload-key", "text", "--json")
    assert status == 0, ran.err
    found = json.loads(ran.out)
    own, *others = found["settings"]
    assert [row["retriever"] for row in others] == stores
    same = ("hit_at_1", "hit_at_5", "reciprocal_rank", "median_rank", "chunks", "embedding_seconds")
    for row in others:
        assert [row[name] for name in same] == [own[name] for name in same]
    [remark] = [note for note in found["notes"] if "left out" in note]
    assert remark.startswith(f"2 of {len(ids) + 2} ids of faiss:")


def test_run_files_are_not_replaced(run, folder):
    samples = folder / "samples.jsonl"
    samples.write_text("kept", encoding="utf-8")
    try:
        status, ran = run(folder, "--out", samples)
        assert status == 2
        assert f"--out {samples}: is an input" in ran.err
        assert samples.read_text(encoding="utf-8") == "kept"
    finally:
        samples.unlink()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--chunker", "magic"], "--chunker magic: "),
        (["--chunk-size", "300,big"], "--chunk-size 300,big: 'big' "),
        (["--chunk-size", "0"], "--chunk-size 0: '0' "),
        (["--vector-store", "chroma"], "--vector-store chroma: no such store"),
        (["--embedder", "smollm2-135m"], "is a generator, not an embedder"),
        (["--out", "rows.txt"], "must end with .csv or .jsonl"),
        (["--rerank", "all-minilm-l6-v2"], "all-minilm-l6-v2 is not a cross-encoder"),
        (["--rerank-depth", "51"], "--rerank-depth 51: must be at most 50"),
        (["--retriever", "faiss:none.index"], "--retriever faiss:none.index: no such file"),
        (["--retriever", "qdrant:http://127.0.0.1:1"], "--retriever qdrant:http://127.0.0.1:1: must be qdrant:URL#"),
        (["--retriever", "qdrant:http://127.0.0.1:1#x"], "no Qdrant server answers"),
    ],
)
def test_wrong_options(run, folder, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, ran = run(folder, "--out", "rows.csv", *options)
    assert status == 2
    assert ran.err.startswith("groundset: error: ")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_not_a_run(run, tmp_path):
    status, ran = run(tmp_path)
    assert (status, "is not the folder of a run" in ran.err) == (2, True)


def test_note_on_max_rank(run, tmp_path):
    def ask(chunks):
        return [(chunk.text[:60], ((chunk,),), None) for chunk in chunks[:12]]

    make_run(tmp_path / "run", SAMPLES[:3], ask, CorpusOptions(chunk_size=600), max_rank=5)
    status, ran = run(tmp_path / "run", "--chunk-size", 300)
    assert status == 0, ran.err
    assert "--max-rank 0" in ran.out
