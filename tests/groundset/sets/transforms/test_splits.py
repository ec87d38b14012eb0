from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundset.run import Run, save_run
from groundset.sets.transforms.splits import split_run, splits_of
from programs.errors import InputError
from programs.types import Sample

Make = Callable[..., Sample]
MakeRun = Callable[..., Run]
SHARES = {"train": 0.5, "test": 0.5}


def test_splits_are_stratified(sample: Make, run_of: MakeRun) -> None:
    samples = [
        sample(
            f"q{number}",
            f"d{number // 2}",
            kind="time" if number % 4 < 2 else "place",
            evolution="reasoning" if number % 10 < 2 else "simple",
        )
        for number in range(200)
    ]
    for seed in range(3):
        splits = splits_of(run_of(*samples), {"train": 0.7, "dev": 0.1, "test": 0.2}, seed)
        reached = Counter(splits)
        assert reached == {"train": 140, "dev": 20, "test": 40}
        kinds = Counter((each.metadata["kind"], name) for each, name in zip(samples, splits, strict=True))
        evolutions = Counter((each.evolution, name) for each, name in zip(samples, splits, strict=True))
        assert [kinds["time", name] for name in ("train", "dev", "test")] == [70, 10, 20]
        assert [evolutions["reasoning", name] for name in ("train", "dev", "test")] == [28, 4, 8]


def test_documents_with_a_common_question_stay_together(sample: Make, run_of: MakeRun) -> None:
    alone = [sample("a", "one"), sample("b", "two"), sample("c", "three"), sample("d", "four")]
    both = alone[0].model_copy(
        update={"id": "e", "question": "Both?", "contexts": (*alone[0].contexts, *alone[1].contexts)}
    )
    # What is as good an answer lies in another document.
    as_good = sample("f", "three", retrieval_gt=(("three-0001", "four-0001"),))
    for seed in range(10):
        splits = splits_of(run_of(*alone, both, as_good), SHARES, seed)
        assert splits[0] == splits[1] == splits[4]
        assert splits[2] == splits[3] == splits[5]
        assert len(set(splits)) == 2


def test_duplicate_questions_stay_together(sample: Make, run_of: MakeRun) -> None:
    asked = [
        "When did it open?",
        "In which year was it opened?",
        "when did it open",
        "When did 2 open?",
        "Who?",
        "Why?",
    ]
    samples = [sample(f"q{number}", f"d{number}", question=text) for number, text in enumerate(asked)]
    vectors = np.eye(6)
    vectors[1] = vectors[3] = vectors[0]  # the fourth names a number, so it is another question
    for seed in range(10):
        splits = splits_of(run_of(*samples, vectors=vectors), SHARES, seed)
        assert splits[0] == splits[1] == splits[2]
        assert set(splits) == {"train", "test"}
    parted = {splits_of(run_of(*samples, vectors=vectors), SHARES, seed)[3] == splits[0] for seed in range(20)}
    assert False in parted


def test_no_split_is_empty(sample: Make, run_of: MakeRun) -> None:
    samples = [sample(f"q{number}", f"d{number}") for number in range(5)]
    assert set(splits_of(run_of(*samples), {"train": 0.98, "dev": 0.01, "test": 0.01})) == {"train", "dev", "test"}


def test_splits_depend_on_the_seed(sample: Make, run_of: MakeRun) -> None:
    samples = [sample(f"q{number}", f"d{number}") for number in range(20)]
    assert splits_of(run_of(*samples), SHARES, 3) == splits_of(run_of(*samples), SHARES, 3)
    assert len({tuple(splits_of(run_of(*samples), SHARES, seed)) for seed in range(5)}) > 1


def test_split_run_writes_splits_and_prints_their_sizes(sample: Make, run_of: MakeRun, tmp_path: Path) -> None:
    samples = [sample(f"q{number}", f"d{number}", kind="time", split="old") for number in range(4)]
    made = run_of(*samples)
    save_run(tmp_path / "run", made, made.lineage("import"))
    lines = split_run(tmp_path / "run", "train=0.75,test=0.25", tmp_path / "parts")
    assert lines[:2] == [
        "Split train: 3 samples, 75.0 % (time 3 of 4).",
        "Split test: 1 sample, 25.0 % (time 1 of 4).",
    ]
    assert "`groundset split run --splits train=0.75,test=0.25 --seed 0`" in lines[2]
    after = Run.loaded(tmp_path / "parts")
    assert Counter(each.split for each in after.samples) == {"train": 3, "test": 1}
    assert [each.model_copy(update={"split": "old"}) for each in after.samples] == samples


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ("train=0.8,test=0.3", "--splits train=0.8,test=0.3: shares must be above 0 and add up to 1"),
        ("train", "--splits train"),
        ("train=nan", "--splits"),
        ("", "--splits"),
        ({}, "name at least one split"),
        ("a/b=0.5,c=0.5", "split 'a/b'"),
        ("a=0.4,b=0.3,c=0.3", "1 group for 3 splits"),
    ],
)
def test_invalid_splits_are_rejected(splits: Any, message: str, sample: Make, run_of: MakeRun, tmp_path: Path) -> None:
    made = run_of(sample("a", "one"), sample("b", "one"))
    save_run(tmp_path / "run", made, made.lineage("import"))
    with pytest.raises(InputError, match=message):
        split_run(tmp_path / "run", splits, tmp_path / "parts")
    assert not (tmp_path / "parts").exists()
