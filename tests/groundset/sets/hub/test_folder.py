"""What would be sent, in a folder: what `datasets` reads of it, and what it never takes the place of."""

import json
import os
import subprocess
import sys

import datasets
import pytest

from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import InputError


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def dry(push, tmp_path, egress):
    """Push to a folder, where nobody can be asked anything and there is no token."""

    def dry(*given, **options):
        push(*given, **options, dry_run=tmp_path / "dry")
        assert push.told == []
        return tmp_path / "dry"

    return dry


def test_datasets_reads_both_configurations_of_the_folder(dry, tmp_path):
    folder = dry()
    cache = {"cache_dir": str(tmp_path / "cache")}
    qa = datasets.load_dataset(str(folder), "qa", **cache)
    assert {name: split["id"][:] for name, split in qa.items()} == {"test": ["q-0"], "train": ["q-1"]}
    assert qa["test"].features["retrieval_gt"] == datasets.List(datasets.List(datasets.Value("string")))
    assert datasets.load_dataset(str(folder), **cache).keys() == qa.keys(), "qa is the default"
    corpus = datasets.load_dataset(str(folder), "corpus", **cache)["corpus"]
    assert corpus["path"][:] == ["ferry.md"] * 3


def test_the_same_run_gives_the_same_bytes_and_a_later_dry_run_takes_its_place(dry, run_of, tmp_path):
    first = contents(dry())
    assert contents(dry()) == first
    later = contents(dry(run_of(tmp_path / "later", split="dev")))
    assert sorted(later) == [
        "README.md",
        "data/corpus/corpus-00000-of-00001.parquet",
        "data/qa/dev-00000-of-00001.parquet",
        "groundset.json",
    ]


def test_what_is_not_ours_is_never_removed(dry, push, tmp_path):
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
    with pytest.raises(InputError, match="holds other files"):
        push(dry_run=tmp_path / "run")


def test_a_card_that_was_edited_keeps_what_is_not_ours(dry):
    folder = dry()
    with (folder / "README.md").open("a") as card:
        card.write("\nThanks to the ferrymen.\n")
    assert (dry() / "README.md").read_text().endswith("\nThanks to the ferrymen.\n")


def test_a_byte_order_mark_hides_no_front_matter(dry):
    card = dry() / "README.md"
    before = card.read_text(encoding="utf-8")
    card.write_text(before, encoding="utf-8-sig")
    dry()
    assert card.read_text(encoding="utf-8") == before


def test_a_card_that_is_no_text_is_left_alone(dry):
    (dry() / "README.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"README\.md there is not UTF-8"):
        dry()


def test_a_card_without_end_is_left_alone(dry):
    (dry() / "README.md").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(InputError, match=r"README\.md there is longer than 1\.0 MB; shorten it there"):
        dry()


def test_a_full_disk_leaves_the_earlier_folder(dry, run_of, tmp_path, monkeypatch):
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


def test_a_run_without_samples_or_with_ill_named_splits_writes_nothing(dry, run_of, tmp_path):
    for name, size, changes, told in (
        ("empty", 0, {}, "the run holds no samples"),
        ("ill", 1, {"split": "../../up"}, "which `datasets` does not take"),
    ):
        with pytest.raises(InputError, match=told):
            dry(run_of(tmp_path / name, size, **changes))
        assert not (tmp_path / "dry").exists()


def test_nothing_tells_of_the_machine_that_the_run_was_made_on(dry, run_of, tmp_path, folder):
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


def test_a_set_made_of_others_says_so_and_not_what_their_folders_are_called(dry, run_of, meta, tmp_path):
    parent = {"name": "secret-plan", "identity": "f" * 64, "samples": 9}
    grown = {"command": "merge", "options": {}, "parents": [parent, parent]}
    lineage = {"command": "drop", "options": {"where": "rank > 1"}, "parents": [{**parent, "lineage": grown}]}
    configuration = {**meta["configuration"], "recipe": None}
    models = {**meta["models"], "lm": {"name": "unknown", "sha256": None}}
    told = {**meta, "lineage": lineage, "configuration": configuration, "models": models}
    written = contents(dry(run_of(tmp_path / "derived", meta=told)))
    card = written["README.md"].decode()
    assert "Made by `groundset drop` from 1 earlier set;" in card
    assert "By what recipe the questions were made is not known." in card
    assert "small language model" not in card, "nobody knows who wrote them"
    kept = {"identity": "f" * 64, "samples": 9}
    assert json.loads(written["groundset.json"])["lineage"] == {
        "command": "drop",
        "parents": [{**kept, "lineage": {"command": "merge", "parents": [kept, kept]}}],
    }
    assert not any(b"secret" in content for content in written.values())


def test_a_model_that_judges_is_told_without_its_address(dry, run_of, meta, tmp_path):
    configuration = {**meta["configuration"], "critic_lm": "openai/big@http://secret.example/v1"}
    models = {**meta["models"], "critic_lm": {"name": "openai/big@server", "sha256": None}}
    written = contents(dry(run_of(tmp_path / "judged", meta={"configuration": configuration, "models": models})))
    assert "| language model that judges | openai/big\\@server |" in written["README.md"].decode()
    told = json.loads(written["groundset.json"])
    assert told["models"]["critic_lm"]["name"] == "openai/big@server"
    assert told["critic_calls"]["calls"] == 0
    assert not any(b"secret" in content for content in written.values())


def test_models_are_told_where_no_one_recipe_made_all_questions(dry, run_of, meta, tmp_path):
    configuration = {**meta["configuration"], "recipe": None}
    names = {"lm": "/home/me/tiny.gguf", "embedder": "owner/one and owner/two", "parser": "deep/in/one and none"}
    models = {**meta["models"], **{role: {"name": name, "sha256": None} for role, name in names.items()}}
    written = contents(dry(run_of(tmp_path / "both", meta={"configuration": configuration, "models": models})))
    card = written["README.md"].decode()
    assert "| language model | tiny.gguf |" in card
    assert "| embedding model | owner/one and owner/two |" in card
    assert "| parser | one and none |" in card
    assert "A small language model wrote the questions." in card
    assert "Critics decide" not in card, "not of all questions"
    models["lm"] = {"name": "hf/org/tiny-GGUF/tiny.gguf", "sha256": "a" * 64}
    written = contents(dry(run_of(tmp_path / "hub", meta={"configuration": configuration, "models": models})))
    assert "| language model | hf/org/tiny-GGUF/tiny.gguf |" in written["README.md"].decode()
    models["lm"] = {"name": "tiny.gguf and unknown", "sha256": None}
    written = contents(dry(run_of(tmp_path / "some", meta={"configuration": configuration, "models": models})))
    assert "A small language model wrote some of the questions." in written["README.md"].decode()


def test_rejects_and_refused_samples_stay_here(dry, folder):
    with RunStore.review(folder) as store:
        store.reviews.add(Review(item="q-1", reader="ann", verdict="bad", reason="vague"))
    written = contents(dry())
    assert not any("ferry 1" in content.decode("utf-8", "replace") for content in written.values())
    assert "refused 1, which are left out" in written["README.md"].decode()
    assert b"ann" not in written["groundset.json"]


KILLED = """
import os, sys
from pathlib import Path
from groundset import folders
from groundset.sets.hub.push import push_run

real = folders._exchange
folders._exchange = lambda *given: os._exit(9)
push_run(Path(sys.argv[1]), "you/demo", licence="mit", dry_run=Path(sys.argv[2]), notify=print)
"""


def test_a_kill_half_way_leaves_the_earlier_folder_and_the_next_one_tidies_up(dry, run_of, tmp_path):
    folder = dry()
    before = contents(folder)
    larger = run_of(tmp_path / "larger", 3)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(larger), str(folder)], env=os.environ, check=False)
    assert killed.returncode == 9
    assert contents(folder) == before
    assert contents(dry(larger)) != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dry", "larger", "run"]
