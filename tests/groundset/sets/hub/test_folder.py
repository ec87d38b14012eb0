"""Dry runs of push: files, merging of the card and privacy."""

import json

import datasets
import pytest

from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import InputError


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def dry(push, tmp_path, egress):
    """Push to a folder without network and token."""

    def dry(*given, **options):
        push(*given, **options, dry_run=tmp_path / "dry")
        assert push.notices == []
        return tmp_path / "dry"

    return dry


def test_dry_run_loads_with_datasets(dry, tmp_path):
    folder = dry()
    cache = {"cache_dir": str(tmp_path / "cache")}
    qa = datasets.load_dataset(str(folder), "qa", **cache)
    assert {name: split["id"][:] for name, split in qa.items()} == {"test": ["q-0"], "train": ["q-1"]}
    assert qa["test"].features["retrieval_gt"] == datasets.List(datasets.List(datasets.Value("string")))
    assert datasets.load_dataset(str(folder), **cache).keys() == qa.keys(), "qa is the default"
    corpus = datasets.load_dataset(str(folder), "corpus", **cache)["corpus"]
    assert corpus["path"][:] == ["ferry.md"] * 3


def test_dry_run_is_deterministic_and_replaceable(dry, run_of, tmp_path):
    first = contents(dry())
    assert contents(dry()) == first
    later = contents(dry(run_of(tmp_path / "later", split="dev")))
    assert sorted(later) == [
        "README.md",
        "data/corpus/corpus-00000-of-00001.parquet",
        "data/qa/dev-00000-of-00001.parquet",
        "groundset.json",
    ]


def test_dry_run_rejects_folders_with_other_files(dry, push, tmp_path):
    folder = dry()
    deeper = "data/qa/test/test-00000-of-00001.parquet"
    for name in ("data/mine.csv", "data/qa/mine.parquet", "data/qa/test/part.parquet", deeper, "notes.txt", ".git/c"):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("precious")
        before = contents(folder)
        with pytest.raises(InputError, match=r"holds other files \("):
            dry()
        assert contents(folder) == before
        file.unlink()
    with pytest.raises(InputError, match="is the folder of a run"):
        push(dry_run=tmp_path / "run")


def test_dry_run_keeps_manual_edits_of_the_card(dry):
    card = dry() / "README.md"
    edited = card.read_text(encoding="utf-8") + "\nThanks to the ferrymen.\n"
    card.write_text(edited, encoding="utf-8-sig")
    dry()
    assert card.read_text(encoding="utf-8") == edited


@pytest.mark.parametrize(("content", "problem"), [(b"\xff\xfe", "not UTF-8"), (b"x" * ((1 << 20) + 1), "longer than")])
def test_dry_run_rejects_unreadable_cards(dry, content, problem):
    card = dry() / "README.md"
    card.write_bytes(content)
    with pytest.raises(InputError, match=rf"README\.md is {problem}"):
        dry()
    assert card.read_bytes() == content


def test_failed_dry_run_keeps_the_earlier_one(dry, run_of, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    folder = dry()
    before = contents(folder)
    real = pq.write_table

    def full(table, path, **options):
        if "train" in path.name:
            raise OSError(28, "No space left on device")
        real(table, path, **options)

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(InputError, match="No space left on device"):
        dry(run_of(tmp_path / "larger", 3))
    assert contents(folder) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dry", "larger", "run"]


def test_dry_run_validates_the_run(dry, run_of, tmp_path):
    for name, size, changes, message in (
        ("empty", 0, {}, "holds no samples"),
        ("invalid", 1, {"split": "../../up"}, "split name"),
    ):
        with pytest.raises(InputError, match=message):
            dry(run_of(tmp_path / name, size, **changes))
        assert not (tmp_path / "dry").exists()


def test_published_files_contain_no_local_paths(dry, run_of, tmp_path, folder):
    with RunStore.read(folder) as store:
        chunk = store.chunks()[0]
    elsewhere = [chunk.model_copy(update={"path": path}) for path in ("/home/me/secret/a.md", "C:\\secret\\b.md")]
    written = contents(dry(run_of(tmp_path / "moved", contexts=tuple(elsewhere))))
    for name, content in written.items():
        assert b"secret" not in content, name
        assert str(tmp_path).encode() not in content, name
    record = json.loads(written["groundset.json"])
    assert record["models"]["lm"] == {"name": "tiny.gguf", "sha256": "a" * 64}
    assert record["models"]["embedder"]["name"] == "owner/embedder"
    assert record["configuration"] == {"recipe": "single", "kinds": {"time": 1.0}, "size": 2}
    assert not record.keys() & {"skipped", "tracked", "versions"}
    (place, other) = datasets.Dataset.from_parquet(
        str(tmp_path / "dry" / "data" / "qa" / "test-00000-of-00001.parquet"), cache_dir=str(tmp_path / "cache")
    )[0]["provenance"]
    assert (place["path"], other["path"]) == ("a.md", "b.md")


def test_published_lineage_has_no_folder_names(dry, run_of, meta, tmp_path):
    parent = {"name": "secret-plan", "identity": "f" * 64, "samples": 9}
    grown = {"command": "merge", "options": {}, "parents": [parent, parent]}
    lineage = {"command": "drop", "options": {"where": "rank > 1"}, "parents": [{**parent, "lineage": grown}]}
    configuration = {**meta["configuration"], "recipe": None}
    models = {**meta["models"], "lm": {"name": "unknown", "sha256": None}}
    derived = {**meta, "lineage": lineage, "configuration": configuration, "models": models}
    written = contents(dry(run_of(tmp_path / "derived", meta=derived)))
    card = written["README.md"].decode()
    assert "Made by `groundset drop` from 1 earlier set," in card
    assert "The recipe is unknown." in card
    assert "small language model" not in card
    kept = {"identity": "f" * 64, "samples": 9}
    assert json.loads(written["groundset.json"])["lineage"] == {
        "command": "drop",
        "parents": [{**kept, "lineage": {"command": "merge", "parents": [kept, kept]}}],
    }
    assert not any(b"secret" in content for content in written.values())


@pytest.mark.parametrize(
    ("models", "lines"),
    [
        ({"critic_lm": "openai/big@server"}, ["| language model that judges | openai/big\\@server |"]),
        (
            {"lm": "/home/me/tiny.gguf"},
            ["| language model | tiny.gguf |", "A small language model wrote the questions."],
        ),
        ({"embedder": "owner/one and owner/two"}, ["| embedding model | owner/one and owner/two |"]),
        ({"parser": "deep/in/one and none"}, ["| parser | one and none |"]),
        ({"lm": "hf/org/tiny-GGUF/tiny.gguf"}, ["| language model | hf/org/tiny-GGUF/tiny.gguf |"]),
        ({"lm": "tiny.gguf and unknown"}, ["A small language model wrote some of the questions."]),
    ],
)
def test_published_models_have_no_paths(dry, run_of, meta, tmp_path, models, lines):
    secret = {"recipe": None, "critic_lm": "openai/big@http://secret.example/v1"}
    changed = {
        "configuration": {**meta["configuration"], **secret},
        "models": {**meta["models"], **{role: {"name": name, "sha256": None} for role, name in models.items()}},
    }
    written = contents(dry(run_of(tmp_path / "judged", meta=changed)))
    card = written["README.md"].decode()
    assert [line for line in lines if line not in card] == []
    assert "Critics" not in card, "they did not judge all questions"
    assert (json.loads(written["groundset.json"])["critic_calls"] is None) == ("critic_lm" not in models)
    assert not any(b"secret" in content for content in written.values())


def test_rejects_and_refused_samples_are_not_published(dry, folder):
    with RunStore.review(folder) as store:
        store.reviews.add(Review(item="q-1", reader="ann", verdict="bad", reason="vague"))
    written = contents(dry())
    assert not any("ferry 1" in content.decode("utf-8", "replace") for content in written.values())
    assert "refused 1, which are left out" in written["README.md"].decode()
    assert b"ann" not in written["groundset.json"]
