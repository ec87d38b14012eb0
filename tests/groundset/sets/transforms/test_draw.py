from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loaded_run import loaded_run

from groundset.run import Run, save_run
from groundset.sets.transforms.draw import STRATA, draw, sample_run
from programs.errors import InputError
from programs.types import Sample

Make = Callable[..., Sample]


@pytest.fixture
def mixed(sample: Make) -> list[Sample]:
    """Thirty samples about six documents, two in three simple; one asks for a place."""
    return [
        sample(
            f"q{number}",
            f"d{number % 6}",
            evolution="reasoning" if number % 3 == 0 else "simple",
            kind="place" if number == 7 else "time",
        )
        for number in range(30)
    ]


def counted(samples: list[Sample], places: list[int], by: str) -> Counter[str]:
    return Counter(STRATA[by](samples[place]) for place in places)


def test_draw_is_proportional_with_one_sample_per_stratum(mixed: list[Sample]) -> None:
    assert counted(mixed, draw(mixed, 9, "evolution"), "evolution") == {"simple": 6, "reasoning": 3}
    assert counted(mixed, draw(mixed, 5, "kind"), "kind") == {"time": 4, "place": 1}
    assert counted(mixed, draw(mixed, 1, "kind"), "kind") == {"time": 1}, "the largest stratum comes first"


def test_draw_is_round_robin_over_documents(mixed: list[Sample]) -> None:
    for size, most in ((6, 1), (12, 2), (13, 3)):
        of_documents = counted(mixed, draw(mixed, size), "document")
        assert len(of_documents) == 6
        assert max(of_documents.values()) == most


def test_draw_starts_with_documents_with_few_samples(sample: Make) -> None:
    samples = [sample(f"q{number}", "large", evolution="simple") for number in range(20)]
    samples += [sample("r", "large", evolution="reasoning"), sample("s", "small", evolution="reasoning")]
    for seed in range(10):
        drawn = draw(samples, 2, "evolution", seed)
        assert counted(samples, drawn, "document") == {"large": 1, "small": 1}
        assert counted(samples, drawn, "evolution") == {"simple": 1, "reasoning": 1}


def test_draw_depends_on_the_seed_not_on_the_order(mixed: list[Sample]) -> None:
    def ids(samples: list[Sample], seed: int) -> set[str]:
        return {samples[place].id for place in draw(samples, 8, "kind", seed)}

    assert ids(mixed, 1) == ids(mixed[::-1], 1)
    assert len({frozenset(ids(mixed, seed)) for seed in range(5)}) > 1


def test_draw_returns_the_requested_size_without_repeats(mixed: list[Sample]) -> None:
    for by in (None, *STRATA):
        for size in range(1, len(mixed) + 1):
            assert len(set(draw(mixed, size, by))) == size
    assert draw(mixed, 30, "document") == list(range(30))


def test_sample_run_keeps_all_chunks(tmp_path: Path) -> None:
    before = loaded_run()
    save_run(tmp_path / "run", before, before.lineage("import"))
    lines = sample_run(tmp_path / "run", 3, tmp_path / "some", by="evolution", seed=4)
    assert lines[0] == "Drew 3 of 4 samples, about 2 of 2 documents; by evolution: simple 2 of 3, reasoning 1 of 1."
    assert "`groundset sample run --size 3 --by evolution --seed 4`" in lines[1]
    after = Run.loaded(tmp_path / "some")
    assert len(after.samples) == 3
    assert [sample for sample in before.samples if sample in after.samples] == after.samples, "as they were, in order"
    assert after.chunks == before.chunks


def test_dimension_of_a_profile_is_a_stratum(mixed: list[Sample], tmp_path: Path) -> None:
    profiles: list[Any] = [{"Type": "short", "Age": 7}, {"Type": "open"}, None, "none"]
    samples = [
        one.model_copy(update={"metadata": {**one.metadata, "profile": profiles[place % 4]}})
        for place, one in enumerate(mixed[:16])
    ]
    drawn = [samples[place].profile.get("Type", "none") for place in draw(samples, 4, "profile.Type")]
    assert Counter(drawn) == {"none": 2, "short": 1, "open": 1}
    run = loaded_run()
    save_run(tmp_path / "none", run, run.lineage("import"))
    with pytest.raises(InputError, match=r"^--by profile\.Type: no sample has this dimension; .* has no profiles$"):
        sample_run(tmp_path / "none", 1, tmp_path / "some", by="profile.Type")
    first = run.samples[0].model_copy(update={"metadata": {"profile": {"Type": "short"}}})
    run = run.replace(samples=[first, *run.samples[1:]])
    save_run(tmp_path / "run", run, run.lineage("import"))
    with pytest.raises(InputError, match=r"--by profile\.type: .* has profile\.Type$"):
        sample_run(tmp_path / "run", 1, tmp_path / "some", by="profile.type")
    lines = sample_run(tmp_path / "run", 2, tmp_path / "some", by="profile.Type")
    assert "; by profile.Type: short 1 of 1, none 1 of 3." in lines[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"size": 5}, "--size 5: .* 4 samples"), ({"size": 0}, "--size 0"), ({"size": 1, "by": "age"}, "--by age")],
)
def test_sample_run_validates_options(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    save_run(tmp_path / "run", loaded_run(), loaded_run().lineage("import"))
    with pytest.raises(InputError, match=message):
        sample_run(tmp_path / "run", out=tmp_path / "some", **options)
    assert not (tmp_path / "some").exists()
