"""The database of a run: what is kept, and what happens when it cannot be used."""

import sqlite3
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from refusal import refuses
from run_parts import CHUNKS, response, sample

from groundset.files import json_line
from groundset.programs.errors import RunError
from groundset.programs.types import Reject, Sample
from groundset.run.record import sample_row
from groundset.run.store import Attempt, Result, Review, Store


@pytest.fixture
def folder(tmp_path) -> Path:
    run = tmp_path / "run"
    with Store.create(run, {"asked": 3}) as store:
        store.put("k", response("text"))
        store.add_attempt(
            Attempt(
                1,
                ("c0",),
                ("simple",),
                "accepted",
                Result(sample=sample(1)),
                np.ones(3, np.float32),
            )
        )
        reject = Reject(step="judge", reason="not clear", question="What?", chunk_id="c1")
        store.add_attempt(
            Attempt(2, ("c1",), ("simple",), "refused", Result(rejects=(reject,), exhausted=True))
        )
        store.add_attempt(
            Attempt(3, ("c1",), ("simple",), "surplus", Result(sample=sample(3, chunks=CHUNKS[1:])))
        )
    return run


def test_what_was_kept_is_read_again(folder):
    with Store.open(folder) as store:
        assert store.get("k") == response("text")
        assert store.get("other") is None
        assert store.meta("asked") == 3
        assert store.usage() == {
            "calls": 1,
            "prompt_tokens": 10,
            "cached_tokens": 4,
            "generated_tokens": 2,
            "seconds": 0.5,
        }
        first, second, third = store.attempts()
        assert first.result.sample == sample(1)
        assert first.vector.tolist() == [1, 1, 1]
        assert second.result.exhausted
        store.promote([third.number])
        assert [attempt.state for attempt in store.attempts()] == [
            "accepted",
            "refused",
            "accepted",
        ]


def test_a_row_of_samples_is_written_as_it_was_read():
    """Also what has a field stands in the metadata, in the order in which it was written."""
    facts = (
        '"evidence": [], "kind": "fact", "seed_question": "Why?", "conversation": [{"role": "user",'
        ' "content": "Why, then?"}], "persona": null, "variants": [{"answer": "no", "chunk_id":'
        ' "c1", "place": 0}], "readings": [{"chunk_id": "c0", "probability": 0.5}], "weight": 2,'
        ' "ranking": ["c0"], "attempt": 7, "imported": {"n": 1}, "profile": {}, "aligned": "same"'
    )
    whole = json_line(sample_row(sample(1)))
    line = whole.replace('"kind": "fact"', facts)
    read = Sample.model_validate_json(line)
    assert json_line(sample_row(read)) == line
    assert read.kind == "fact"
    assert read.variants[0]["answer"] == "no"
    assert read.metadata.keys() == {
        "seed_question",
        "persona",
        "weight",
        "attempt",
        "imported",
        "profile",
    }
    stored = Result(sample=read).model_dump_json()
    assert Result.model_validate_json(stored).model_dump_json() == stored
    bare = read.model_copy(update={"evidence": ("a",), "aligned": "cut", "evidence_before": ("b",)})
    assert json_line(sample_row(bare)) == line.replace(
        '"evidence": []', '"evidence": ["a"]'
    ).replace('"aligned": "same"', '"aligned": "cut", "evidence_before": ["b"]')


def test_a_transaction_is_kept_whole_or_not(folder):
    with Store.open(folder) as store:
        with suppress(ZeroDivisionError), store.transaction():
            store.set_meta("asked", 9)
            store.set_meta("asked", 1 / 0)
        assert store.meta("asked") == 3


def test_reviews_can_be_added_while_a_process_works_on_the_run(folder):
    with Store.open(folder) as driver:
        given = Review(
            sample_id="s001", reviewer="Ada", verdict="refused", reasons=("vague",), note="why?"
        )
        with Store(folder / "run.sqlite") as reviewer:
            reviewer.add_review(given)
        (review,) = driver.reviews()
    assert review == given


def test_only_one_process_works_on_a_run(folder):
    with Store.open(folder) as driver:
        with refuses(f"another process is working on {folder}", RunError):
            Store.open(folder)
        driver.put("paid", response("more"))
        driver.add_attempt(Attempt(4, ("c1",), ("simple",), "refused", Result()))
        with Store.read(folder) as reader:
            assert reader.get("paid") == response("more"), "so it outlives a kill"
            assert len(reader.attempts()) == 4
    Store.open(folder).close()


def test_a_closed_run_can_be_read_where_nothing_can_be_written(folder):
    folder.chmod(0o500)
    try:
        with Store.read(folder) as store:
            assert len(store.attempts()) == 3
    finally:
        folder.chmod(0o700)


def damage_a_page(file):
    data = bytearray(file.read_bytes())
    data[4096:4196] = b"\xff" * 100
    file.write_bytes(data)


def run_sql(*statements):
    def change(file):
        connection = sqlite3.connect(file)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.write_bytes(file.read_bytes()[:5000]), "is damaged"),
        (damage_a_page, "is damaged"),
        (
            run_sql("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM calls; END"),
            "other tables",
        ),
        (run_sql("DROP TABLE calls", "CREATE VIEW calls AS SELECT 1"), "other tables"),
        (
            run_sql("UPDATE attempts SET result = '{}' WHERE number = 1"),
            "a stored value is invalid",
        ),
        (run_sql("UPDATE attempts SET state = 'won'"), "a stored value is invalid"),
        (run_sql("UPDATE attempts SET vector = x'00'"), "a stored value is invalid"),
        (run_sql("UPDATE attempts SET chunks = CAST(x'ff22' AS TEXT)"), "is damaged"),
        (run_sql("PRAGMA user_version = 2"), "was made by groundset 0.1"),
        (run_sql("PRAGMA user_version = 21"), "was made by a later version of groundset"),
        (run_sql("PRAGMA application_id = 1"), "was not made by groundset"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_in_one_line(folder, change, message):
    change(folder / "run.sqlite")
    with refuses(message) as error, Store.open(folder) as store:
        store.attempts()
    assert error.value.exit_code == 2


def test_a_folder_without_a_run_is_refused(tmp_path):
    with refuses(r"has no run\.sqlite; name a folder made by"):
        Store.read(tmp_path)
    with refuses("does not exist"):
        Store.read(tmp_path / "none")


@pytest.mark.parametrize("name", ["run.sqlite-wal", ".lock", "corpus", "vectors.npy"])
def test_links_out_of_the_folder_are_not_followed(folder, tmp_path, name):
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with refuses(f"{name} is a symbolic link"):
        Store.open(folder)
    assert not (tmp_path / "elsewhere").exists()
