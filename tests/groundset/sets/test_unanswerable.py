"""Unanswerable questions and conversations in exports, imports, transforms, reports and labels."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from loaded_run import loaded_run
from scripted_run import Encoder

from groundset.compiling.review_labels import labels_from
from groundset.progress import Progress
from groundset.report.analysis import RunAnalysis
from groundset.report.comparison import compare_runs
from groundset.report.sections.retrieval import section
from groundset.retrieval.index import round_trip
from groundset.retrieval.reranker import load_reranker
from groundset.retrieval_eval.compare import compare
from groundset.retrieval_eval.configs import retriever_configs
from groundset.retrieval_eval.report import notes
from groundset.retrieval_eval.search import SearchOptions
from groundset.run import Run, save_run
from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from groundset.sets.importing import import_set
from groundset.sets.measuring import judge_samples, with_ranks
from groundset.sets.transforms.drop import matching
from groundset.sets.transforms.merge import merge_runs
from groundset.sets.transforms.splits import split_run
from groundset.store.reviews import Review
from programs.errors import DamagedRunError, InputError
from programs.types import Hit, Retrieval, Sample

SPEED = "How fast is the ferry Henn?"
SAID = "The documents do not say."
MESSAGES = [
    {"role": "user", "content": "Where is the clock?"},
    {"role": "assistant", "content": "in Brenn"},
    {"role": "user", "content": "When was it cast?"},
]


def make_run(**changes: Any) -> Run:
    """Return the small run; its second question is unanswerable, its third ends a conversation."""
    run = loaded_run()
    first, second, third, fourth = run.samples
    nothing = Retrieval(rank=None, retrieved_id="ferry-0001", retrieved_content="", score=0)
    open_question = {"question": SPEED, "answer": SAID, "evolution": "unanswerable", "retrieval_gt": ()}
    known = {"answerable": False, "missing": "the speed", "kind": "fact"}
    second = second.model_copy(update={**open_question, "retrieval": nothing, "metadata": known})
    third = third.model_copy(update={"evolution": "conversation", "metadata": {"conversation": MESSAGES}})
    samples = changes.pop("samples", None) or [first, second, third, fourth]
    vectors = Encoder("words").encode([sample.question for sample in samples])
    return run.replace(samples=samples, question_vectors=vectors, **changes)


def written(run: Run, name: str, folder: Path, **options: Any) -> Path:
    write_set(run, [EXPORTS[name]], folder / name, **options)
    return folder / name


def rows(file: Path) -> Any:
    text = file.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if file.suffix == ".jsonl" else json.loads(text)


def saved(run: Run, folder: Path) -> Path:
    save_run(folder, run, run.lineage("import"))
    return folder


def imported(source: Path, out: Path) -> list[Sample]:
    import_set([source], out, embedder="words", progress=Progress(quiet=True), load_embedder=Encoder)
    return list(Run(out).samples)


def test_table_of_questions_says_both(tmp_path: Path) -> None:
    made = pq.read_table(written(make_run(), "parquet", tmp_path) / "questions.parquet").to_pylist()
    assert [row["answerable"] for row in made] == [True, False, True, True]
    assert [row["conversation"] for row in made] == [None, None, MESSAGES, None]
    assert made[1]["retrieval_gt"] == []
    assert made[1]["chunk_ids"] == ["ferry-0002"]


def test_autorag_has_an_empty_group_and_the_sources(tmp_path: Path) -> None:
    folder = written(make_run(), "autorag", tmp_path)
    made = pq.read_table(folder / "qa.parquet").to_pylist()
    assert [row["retrieval_gt"] for row in made[:2]] == [[["ferry-0001"]], [[]]]
    assert made[1]["chunk_ids"] == ["ferry-0002"]
    plain = pq.read_table(written(loaded_run(), "autorag", tmp_path / "plain") / "qa.parquet")
    assert "chunk_ids" not in plain.column_names
    flat = pq.read_table(written(make_run(), "autorag", tmp_path / "flat", flat="and") / "qa.parquet")
    assert flat.column("retrieval_gt").to_pylist()[1] == []


def test_judgements_leave_it_out(tmp_path: Path) -> None:
    beir, trec = written(make_run(), "beir", tmp_path), written(make_run(), "trec", tmp_path)
    assert len((beir / "qrels" / "test.tsv").read_text().splitlines()) == 4
    assert len((trec / "qrels.txt").read_text().splitlines()) == 3
    assert len((trec / "topics.tsv").read_text().splitlines()) == 4
    metadata = rows(beir / "queries.jsonl")[1]["metadata"]
    assert (metadata["answerable"], metadata["chunk_ids"], metadata["split"]) == (False, ["ferry-0002"], None)


def test_tools_get_no_contexts_for_it_and_a_file_of_conversations(tmp_path: Path) -> None:
    run = make_run()
    deepeval = written(run, "deepeval", tmp_path)
    assert [bool(golden["context"]) for golden in rows(deepeval / "goldens.json")] == [True, False, True, True]
    (golden,) = rows(deepeval / "conversations.json")
    assert (golden["scenario"], golden["expected_outcome"]) == (run.samples[2].question, "1931")
    assert golden["turns"] == MESSAGES
    ragas = written(run, "ragas", tmp_path)
    assert rows(ragas / "testset.jsonl")[1]["reference_contexts"] == []
    assert rows(ragas / "testset-0.1.jsonl")[1]["contexts"] == []
    (row,) = rows(ragas / "conversations.jsonl")
    assert [message["type"] for message in row["user_input"]] == ["human", "ai", "human"]
    assert row["reference"] == "1931"
    llamaindex = written(run, "llamaindex", tmp_path)
    assert set(rows(llamaindex / "retrieval_dataset.json")["queries"]) == {"q-1", "q-3", "q-4"}
    assert rows(llamaindex / "rag_dataset.json")["examples"][1]["reference_contexts"] == []
    triplets = [row for file in written(run, "triplets", tmp_path).glob("*.jsonl") for row in rows(file)]
    assert SPEED not in {row["anchor"] for row in triplets}
    assert len(triplets) == 3


def test_no_file_of_conversations_without_any(tmp_path: Path) -> None:
    for name, file in (("deepeval", "conversations.json"), ("ragas", "conversations.jsonl")):
        folder = written(make_run(), name, tmp_path)
        assert (folder / file).exists()
        write_set(loaded_run(), [EXPORTS[name]], folder)  # replaces the former export
        assert not (folder / file).exists()


@pytest.mark.parametrize("value", ["x", [], [1], [{"role": "user"}], {"role": "user"}, 7, [None]])
def test_foreign_conversations_are_ignored(value: Any) -> None:
    sample = loaded_run().samples[0].model_copy(update={"metadata": {"conversation": value}})
    assert sample.conversation is None


def test_triplets_need_an_answerable_question(tmp_path: Path) -> None:
    only = make_run(samples=[make_run().samples[1]])
    with pytest.raises(InputError, match="--format triplets: every question of the run is unanswerable"):
        written(only, "triplets", tmp_path)


@pytest.mark.parametrize("name", ["autorag", "beir"])
def test_exports_are_read_back(name: str, tmp_path: Path) -> None:
    first, second, *_ = imported(written(make_run(), name, tmp_path), tmp_path / "run")
    assert (second.question, second.answer, second.retrieval_gt) == (SPEED, SAID, ())
    assert [chunk.chunk_id for chunk in second.contexts] == ["ferry-0002"]
    assert (second.answerable, second.metadata["answerable"], second.retrieval.rank) == (False, False, None)
    assert first.answerable
    if name == "autorag":  # a further export is identical to the byte
        again = written(Run(tmp_path / "run"), name, tmp_path / "again")
        assert (again / "qa.parquet").read_bytes() == (tmp_path / name / "qa.parquet").read_bytes()


def test_samples_are_read_back(tmp_path: Path) -> None:
    run = saved(make_run(), tmp_path / "run")
    made = imported(run / "samples.jsonl", tmp_path / "again")
    assert [sample.metadata for sample in made] == [sample.metadata for sample in make_run().samples]
    assert [sample.retrieval_gt for sample in made] == [sample.retrieval_gt for sample in make_run().samples]
    assert made[1].retrieval.rank is None


def test_split_is_read_back_from_beir(tmp_path: Path) -> None:
    splits = ("train", "test", "train", "test")
    samples = [
        sample.model_copy(update={"split": split}) for sample, split in zip(make_run().samples, splits, strict=True)
    ]
    made = imported(written(make_run(samples=samples), "beir", tmp_path), tmp_path / "run")
    assert [sample.split for sample in made] == [*splits]


@pytest.mark.parametrize("name", ["autorag", "beir"])
def test_foreign_questions_without_a_chunk_are_left_out(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(make_run(), name, tmp_path)
    if name == "autorag":
        table = pq.read_table(folder / "qa.parquet").drop_columns(["chunk_ids"])
        pq.write_table(table, folder / "qa.parquet")
    else:
        found = rows(folder / "queries.jsonl")
        del found[1]["metadata"]["chunk_ids"]
        (folder / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in found))
    import_set([folder], tmp_path / "run", embedder="words", progress=Progress(), load_embedder=Encoder)
    assert [sample.id for sample in Run(tmp_path / "run").samples] == ["q-1", "q-3", "q-4"]
    assert "1 question without a relevant chunk" in capsys.readouterr().err


def test_samples_without_ground_truth_must_be_unanswerable(tmp_path: Path) -> None:
    samples = [make_run().samples[1].model_copy(update={"metadata": {}})]
    with pytest.raises(InputError, match="sample q-2 has no ground-truth chunk"):
        written(make_run(samples=samples), "csv", tmp_path)
    with pytest.raises(DamagedRunError, match="a chunk of sample q-2 is missing"):
        Run.loaded(saved(make_run(samples=samples), tmp_path / "run"))


def test_it_has_no_rank() -> None:
    hits = [Hit(chunk_id="ferry-0001", text="", similarity=1.0)]
    assert (round_trip(hits, ()).rank, round_trip(hits, ()).score) == (None, 0)
    assert with_ranks(make_run()).samples[1].retrieval.rank is None
    run = make_run()
    assert matching("rank > 0", run.samples, {}) == [0, 2, 3]
    assert matching("rank <= 5", run.samples, {}) == [0, 2, 3]


class Answerable:
    """Finds every question clear and answered."""

    supports_decision_requests = True

    def embed_ahead(self, rows: Any) -> None: ...

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, Any]:
        return {name: {"noul": 0.9, "reason": "It is."} for name in questions}


def test_critic_must_find_it_unanswered() -> None:
    decisions: Any = list(judge_samples(make_run().samples, Answerable(), None, lambda _: None))  # type: ignore[arg-type]
    assert [decision.good for decision in decisions] == [True, False, True, True]
    assert decisions[1].refusal == "not unanswerable: It is."
    assert decisions[1].probability == pytest.approx(0.1)


def test_measures_of_retrieval_leave_it_out(tmp_path: Path) -> None:
    folder = saved(make_run(), tmp_path / "run")
    analysis = RunAnalysis(folder)
    assert [sample.id for sample in analysis.answerable] == ["q-1", "q-3", "q-4"]
    found = analysis.passage_similarity
    assert found is not None
    assert len(found) == 3
    made = section(analysis)
    assert "1 unanswerable question left out: there is no passage to be found." in made.notes
    only = RunAnalysis(saved(make_run(samples=[make_run().samples[1]]), tmp_path / "only"))
    assert section(only).charts == []
    comparison = compare_runs([folder, tmp_path / "only"])
    assert "Measures of retrieval of run leave out 1 unanswerable question." in comparison.notes


def test_comparison_of_retrievers_leaves_it_out(tmp_path: Path) -> None:
    from groundset.engine.config import make_config

    folder = saved(make_run(), tmp_path / "run")
    run = Run.loaded(folder)
    config = make_config({"documents": (tmp_path,), "embedder": "words"})
    configs = retriever_configs(config, [], [], [], retrievers=["dense", "bm25"], rankings=(), mixed=True)
    search = SearchOptions(Encoder, load_reranker)
    made = compare(run, configs, search, monitor=Progress(quiet=True))
    assert [sample.id for sample in made.samples] == ["q-1", "q-3", "q-4"]
    assert "1 unanswerable question left out." in notes(made, config)
    only = Run.loaded(saved(make_run(samples=[make_run().samples[1]]), tmp_path / "only"))
    with pytest.raises(InputError, match="every question is unanswerable"):
        compare(only, configs, search, monitor=Progress(quiet=True))


def test_merge_and_split_keep_it(tmp_path: Path) -> None:
    whole = make_run()
    part = whole.only([2, 3]).replace(
        chunks=whole.chunks[2:],
        chunk_vectors=whole.chunk_vectors[2:],
        documents=whole.documents[1:],
        reviews=[],
        rejects=[],
    )
    folders = [saved(make_run(), tmp_path / "one"), saved(part, tmp_path / "two")]
    lines = merge_runs(folders, tmp_path / "merged")
    assert lines[-1].startswith("1 unanswerable question may be answered by chunks that are new to them")
    same = merge_runs([folders[0], saved(make_run(), tmp_path / "again")], tmp_path / "same")
    assert not any("may be answered" in line for line in same)
    assert [sample.id for sample in Run(tmp_path / "merged").samples if not sample.answerable] == ["q-2"]
    split_run(folders[0], {"train": 0.5, "test": 0.5}, tmp_path / "split")
    first, second, *_ = Run(tmp_path / "split").samples
    assert first.split == second.split  # both were made from the same document


def test_its_reviews_become_no_labels(tmp_path: Path) -> None:
    reviews = [Review(item=name, verdict="good") for name in ("q-1", "q-2")]
    found = labels_from([saved(make_run(reviews=reviews), tmp_path / "run")])
    assert found.left_out == {"unanswerable question": 1}
    assert len(found.labels) == 1
