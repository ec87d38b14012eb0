from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_content import content

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


def test_each_stratum_has_its_share_and_the_rarest_its_one(mixed: list[Sample]) -> None:
    assert counted(mixed, draw(mixed, 9, "evolution"), "evolution") == {"simple": 6, "reasoning": 3}
    assert counted(mixed, draw(mixed, 5, "kind"), "kind") == {"time": 4, "place": 1}
    assert counted(mixed, draw(mixed, 1, "kind"), "kind") == {"time": 1}, "the largest stratum comes first"


def test_documents_take_turns(mixed: list[Sample]) -> None:
    for size, most in ((6, 1), (12, 2), (13, 3)):
        of_documents = counted(mixed, draw(mixed, size), "document")
        assert len(of_documents) == 6
        assert max(of_documents.values()) == most


def test_a_document_with_one_question_is_not_crowded_out(sample: Make) -> None:
    samples = [sample(f"q{number}", "large", evolution="simple") for number in range(20)]
    samples += [sample("r", "large", evolution="reasoning"), sample("s", "small", evolution="reasoning")]
    for seed in range(10):
        drawn = draw(samples, 2, "evolution", seed)
        assert counted(samples, drawn, "document") == {"large": 1, "small": 1}
        assert counted(samples, drawn, "evolution") == {"simple": 1, "reasoning": 1}


def test_a_seed_draws_the_same_again_whatever_the_order_and_another_seed_others(mixed: list[Sample]) -> None:
    def ids(samples: list[Sample], seed: int) -> set[str]:
        return {samples[place].id for place in draw(samples, 8, "kind", seed)}

    assert ids(mixed, 1) == ids(mixed[::-1], 1)
    assert len({frozenset(ids(mixed, seed)) for seed in range(5)}) > 1


def test_as_many_as_wanted_are_drawn_each_once(mixed: list[Sample]) -> None:
    for by in (None, *STRATA):
        for size in range(1, len(mixed) + 1):
            assert len(set(draw(mixed, size, by))) == size
    assert draw(mixed, 30, "document") == list(range(30))


def test_the_new_run_holds_them_and_all_chunks(tmp_path: Path) -> None:
    before = content()
    save_run(tmp_path / "run", before, before.lineage("import"))
    lines = sample_run(tmp_path / "run", 3, tmp_path / "some", by="evolution", seed=4)
    assert lines[0] == "Drew 3 of 4 samples, about 2 of 2 documents; by evolution: simple 2 of 3, reasoning 1 of 1."
    assert "`groundset sample run --size 3 --by evolution --seed 4`" in lines[1]
    after = Run.loaded(tmp_path / "some")
    assert len(after.samples) == 3
    assert [sample for sample in before.samples if sample in after.samples] == after.samples, "as they were, in order"
    assert after.chunks == before.chunks


@pytest.mark.parametrize(
    ("options", "message"),
    [({"size": 5}, "--size 5: choose from 1 to 4"), ({"size": 0}, "--size 0"), ({"size": 1, "by": "age"}, "--by age")],
)
def test_what_cannot_be_drawn_is_refused_and_nothing_written(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    save_run(tmp_path / "run", content(), content().lineage("import"))
    with pytest.raises(InputError, match=message):
        sample_run(tmp_path / "run", out=tmp_path / "some", **options)
    assert not (tmp_path / "some").exists()
