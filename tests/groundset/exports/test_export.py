"""`groundset export`: which samples go out, joined runs, splits, and what happens to the folder."""

from collections import Counter

import pytest
from evaluation_sets import cut, document, evaluation_set, run_of, sample, saved, two_documents
from json_lines import read
from refusal import refuses

import groundset
from groundset.exports.formats import EXPORTS, Export
from groundset.exports.sets import EvaluationSet, joined, split
from groundset.files import write_text
from groundset.run.run import Run
from groundset.run.store import Review


def names(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("[!.]*") if path.is_file()
    )


def contents(folder):
    return {name: (folder / name).read_bytes() for name in names(folder)}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return saved(tmp_path_factory.mktemp("saved") / "run")


def test_command_and_function_write_the_same(run, tmp_path, status_of, capsys):
    exported = groundset.export(run, format="autorag,csv,adk", out=tmp_path / "python")
    assert exported == (2, 4, tmp_path / "python")
    out = tmp_path / "cli"
    assert status_of("export", run.folder, "--format", "autorag, csv", "--out", out) == 0
    assert capsys.readouterr().out == f"2 questions and 4 chunks: {out}\n"
    tables = "autorag/corpus.parquet", "autorag/qa.parquet", "csv/corpus.csv", "csv/questions.csv"
    assert names(out) == [*tables]
    for name in tables:
        assert (out / name).read_bytes() == (tmp_path / "python" / name).read_bytes()


def two(*samples, name="run", **parts):
    """Return the run of two documents in memory."""
    found = two_documents()
    return run_of(samples or found.samples, list(found.documents.values()), name=name, **parts)


def test_reviews_decide_what_goes_out():
    reviews = [
        Review(sample_id="q-1", reviewer="ann", verdict="refused"),
        Review(sample_id="q-1", reviewer="ann", verdict="signed"),
        Review(sample_id="q-2", reviewer="ann", verdict="signed"),
        Review(sample_id="q-2", reviewer="bob", verdict="refused", reasons=("vague",)),
    ]
    run = two(reviews=reviews)

    for signed in (False, True):
        kept = [each.id for each in joined([run], signed=signed).samples]
        assert kept == ["q-1"], "the last verdict of a reviewer counts, and one refusal is enough"
    with refuses("run: there is no sample that nobody refused"):
        joined([two(run.samples[1], reviews=reviews)])
    with refuses("no sample is signed"):
        joined([two()], signed=True)
    with refuses("run: there is no sample"):
        joined([run_of([], [document("ferry", 1)])])
    with refuses("sample q-1 has no answer"):
        joined([two(run.samples[0].model_copy(update={"answer": " "}))])


def test_runs_are_joined(run, tmp_path):
    town = document("town", 2)
    third = saved(tmp_path / "town", [sample("q-3", cut(town)[0])], documents=[town])
    exported = groundset.export([run, third, run], format="jsonl", out=tmp_path / "out")
    assert exported == (3, 6, tmp_path / "out")
    assert [row["id"] for row in read(tmp_path / "out" / "samples.jsonl")] == ["q-1", "q-2", "q-3"]


def test_runs_that_contradict_each_other_are_not_joined():
    reworded = two(two().samples[0].model_copy(update={"question": "Why?"}), name="reworded")
    ferry = document("ferry", 2)
    changed = run_of([], [ferry.model_copy(update={"text": ferry.text.replace("fine", "late")})])
    for other, kind in ((reworded, "sample q-1"), (changed, "chunk ferry-0000")):
        with refuses(rf"^{kind} of {other.folder} is another one than in a run before it,"):
            joined([two(), other])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"format": "excel"},
            "format excel: no such format; choose one of adk, autorag, autorageval, bedrock, beir",
        ),
        (
            {"format": "autorag", "splits": "a=0.5,b=0.5"},
            "splits: only for beir, csv, deepeval, hf, inspect, ",
        ),
        (
            {"format": "csv", "splits": "a=1,b=0.5"},
            "splits a=1,b=0.5: write each split with its share",
        ),
        ({"format": "csv", "splits": {"all": 1}}, "'all' cannot be the name of a split"),
        ({"format": "csv", "splits": "a=nan,b=0.5"}, "write each split with its share"),
        (
            {"format": "csv", "splits": "a=0.5,b=0.5"},
            "about 1 separate groups of documents .* for 2 splits",
        ),
        ({"format": "csv", "runs": "gone"}, "gone does not exist"),
    ],
)
def test_wrong_options_write_nothing(run, tmp_path, options, message):
    given = {"runs": run, **options}
    with refuses(message):
        groundset.export(out=tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_folders_with_files_are_refused(run, tmp_path):
    write_text(tmp_path / "letters" / "qrels" / "letter.docx", "precious")
    for out, message in (
        (tmp_path / "letters", r"letters holds files \(qrels\); name an empty or a new"),
        (run.folder, r"holds files \(.*"),
        (run.folder / "run.json", "is a file, not a folder"),
    ):
        with refuses(message):
            groundset.export(run, format="beir", out=out)
    assert names(tmp_path / "letters") == ["qrels/letter.docx"]


def test_failed_export_writes_no_format(run, tmp_path, monkeypatch):
    out = tmp_path / "out"

    def full_disk(found, folder):
        raise OSError(28, "No space left on device")

    more = {**EXPORTS, "beir": Export({}, write=full_disk)}
    monkeypatch.setattr("groundset.exports.export.EXPORTS", more)
    with refuses("No space left on device"):
        groundset.export(run, format="csv,adk,beir", out=out)
    assert contents(out) == {}
    groundset.export(run, format="csv,adk", out=out)
    with refuses(r"csv holds files \(corpus\.csv\)"):
        groundset.export(run, format="csv,adk", out=out)


@pytest.fixture
def large() -> EvaluationSet:
    """Return forty documents with four chunks; three questions about each of the first thirty."""
    documents = [document(f"d{number:02d}", 4) for number in range(40)]
    chunks = [chunk for each in documents for chunk in cut(each)]
    samples = [
        sample(f"q-{chunk.chunk_id}", chunk, question=f"What is in {chunk.chunk_id}?")
        for chunk in chunks
        if chunk.doc_id < "d30" and chunk.start
    ]
    return evaluation_set(run_of(samples, documents))


SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}


def splits_of(found, *more, shares=SHARES):
    return split([*found.samples, *more], found.chunks, shares)


def splits_by_document(found, *more):
    splits = splits_of(found, *more)
    by_document = {}
    for each in found.samples:
        by_document.setdefault(each.contexts[0].doc_id, set()).add(splits[each.id])
    return by_document


def test_documents_are_split_by_their_questions(large):
    splits = splits_of(large)
    assert Counter(splits.values()) == {"train": 72, "dev": 9, "test": 9}
    assert all(len(found) == 1 for found in splits_by_document(large).values())
    turned = large._replace(samples=large.samples[::-1], chunks=large.chunks[::-1])
    assert splits_of(turned) == splits
    uneven = splits_of(large, shares={"a": 0.98, "b": 0.01, "c": 0.01})
    assert set(uneven.values()) == {"a", "b", "c"}


def test_what_shares_a_question_stays_together(large):
    apart = splits_by_document(large)
    dev, test = (
        min(name for name, found in apart.items() if found == {wanted})
        for wanted in ("dev", "test")
    )
    first = {chunk.doc_id: chunk for chunk in reversed(large.chunks)}
    both = sample("both", first[dev], first[test], question="Which two?")
    either = sample(
        "either",
        first[dev],
        question="Any?",
        retrieval_gt=((first[dev].chunk_id, first[test].chunk_id),),
    )
    again = [
        sample(name, first[place], question=words)
        for name, place, words in (
            ("one", dev, "When did it open?"),
            ("two", test, "when did it open"),
        )
    ]
    for more in ([both], [either], again):
        splits, together = splits_of(large, *more), splits_by_document(large, *more)
        assert together[dev] == together[test] == {splits[more[0].id]}
        assert set(splits.values()) == {*SHARES}


def test_split_questions_go_to_their_files(tmp_path):
    documents = [document(name, 2) for name in ("one", "two", "three")]
    samples = [
        sample(each.chunk_id, each, question=f"{each.chunk_id}?")
        for source in documents
        for each in cut(source)
    ]
    run = saved(tmp_path / "run", samples, documents=documents)
    groundset.export(
        run, format="beir,jsonl", out=tmp_path / "out", splits=" train = 0.67, test=0.33"
    )
    assert names(tmp_path / "out" / "beir" / "qrels") == ["test.tsv", "train.tsv"]
    found = read(tmp_path / "out" / "jsonl" / "samples.jsonl")
    assert Counter(row["split"] for row in found) == {"train": 4, "test": 2}
    assert len({(row["split"], row["contexts"][0]["doc_id"]) for row in found}) == 3
