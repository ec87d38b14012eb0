from collections.abc import Callable

import pytest

from groundset.sets.transforms.drop import COLUMNS, matching
from programs.errors import InputError
from programs.types import Sample


@pytest.fixture
def samples(sample: Callable[..., Sample]) -> list[Sample]:
    return [
        sample("a", "ferry", question="When does the Ferry leave?", kind="time", probability=0.4),
        sample("b", "clock", question="What stopped the clock?", rank=None, evolution="reasoning", kind=None),
        sample("c", "ferry", question='Who said "no" to a ferry of 1931?', rank=3, split="test", language="de"),
    ]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ('evolution == "simple" and probability < 0.5', "a"),
        ('kind == "time"', "a"),
        ('not kind or kind == "thing"', "bc"),
        ('language != "en"', "c"),
        ("rank > 1", "bc"),
        ("1 < rank <= 10", "c"),
        ("split", "c"),
        ("not split", "ab"),
        ('document == "clock.md"', "b"),
        ("length > 5", "c"),
        ("passages == 1", "abc"),
        ('review == "bad"', "b"),
        ('"ferry" in question', "c"),
        ('"ferry" in question.lower()', "ac"),
        ('question.startswith("Wh") and not question.endswith("?")', ""),
        ('id in ("a", "c")', "ac"),
        ('id not in ["a", "c"] or rank == -1', "b"),
        (" 'no' in question\n", "c"),
        (r"'\d' in question", ""),
    ],
)
def test_conditions(where: str, ids: str, samples: list[Sample]) -> None:
    assert [samples[place].id for place in matching(where, samples, {"b": "bad"})] == list(ids)


def test_profiles_are_columns(samples: list[Sample]) -> None:
    profile = {"Type": "short", "Who's asking": "nobody"}
    samples[0] = samples[0].model_copy(update={"metadata": {"profile": profile}})
    for where, found in (
        ('profile["Type"] == "short"', [0]),
        ("profile['Type'] != 'short'", [1, 2]),
        ('profile["Type"]', [0]),
        ('not profile["Type"]', [1, 2]),
        ('profile["Type"] in ["short", "open"]', [0]),
        ("""profile["Who's asking"].startswith("no")""", [0]),
    ):
        assert matching(where, samples, {}) == found, where
    for where, why in (
        ('profile["type"] == "short"', r"no sample has profile\['type'\]; columns: .*profile\['Type'\]"),
        ('profile == "short"', "unknown column 'profile'"),
        ("profile[0]", r"no sample has profile\[0\]"),
        ('kind["Type"]', "only columns, strings"),
        ('profile["Type"] in ("short")', r"in needs a list: profile\['Type'\] in \['short'\]"),
    ):
        with pytest.raises(InputError, match=why):
            matching(where, samples, {})


def test_all_columns_can_be_compared(samples: list[Sample]) -> None:
    for name in (*COLUMNS, "review"):
        assert matching(f"{name} == {name}", samples, {}) == [0, 1, 2]


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ('kind = "time"', "invalid syntax"),
        ("", "invalid syntax"),
        ("kind == time", "unknown column 'time', .* quotes; columns: id, question, "),
        ('kind == "x" and nothing == 1', "unknown column 'nothing'"),
        ('kind == "time" or "thing"', "only comparisons, and, or, not and in"),
        ('not "x"', "only comparisons"),
        ("True", "only comparisons"),
        ("question.lower", "only comparisons"),
        ("rank is 1", "only comparisons"),
        ('kind in ("time")', r"in needs a list: kind in \['time'\]"),
        ('not split not in "test"', r"split in \['test'\]"),
        ("probability < 'a'", "not supported between instances of 'float' and 'str'"),
        ("'a' in rank", "not iterable"),
        ("__import__('os').system('true')", "only columns, strings, numbers"),
        ("question.__class__ == 1", "only columns, strings, numbers"),
        ("question.format(1) == 1", "only columns, strings, numbers"),
        ("length == 9**9**9", "only columns, strings, numbers"),
        ("question == 'a' * 999", "only columns, strings, numbers"),
        ("question == f'{1:99999}'", "only columns, strings, numbers"),
        ("[x for x in question] == 1", "only columns, strings, numbers"),
        ("len(question) > 3", "only columns, strings, numbers"),
        ("question.lower(1) == 'a'", "takes no arguments"),
        ("\0", "null bytes"),
    ],
)
def test_invalid_conditions(where: str, why: str, samples: list[Sample]) -> None:
    with pytest.raises(InputError, match=why) as refused:
        matching(where, samples, {})
    assert str(refused.value).startswith("--where")


@pytest.mark.parametrize("where", ["not " * 50_000 + "split", "(" * 50_000])
def test_deeply_nested_conditions_are_rejected(where: str, samples: list[Sample]) -> None:
    with pytest.raises(InputError, match="--where"):
        matching(where, samples, {})
