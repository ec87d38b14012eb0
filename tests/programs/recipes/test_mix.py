import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs.recipes.mix import parse_mix, quotas

mixes = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 100), min_size=1).filter(lambda mix: any(mix.values()))


@given(size=st.integers(1, 500), mix=mixes)
def test_quotas_sum_to_size_and_are_proportional(size, mix):
    shares = quotas(size, mix)
    assert list(shares) == list(mix)
    assert sum(shares.values()) == size
    for name, share in shares.items():
        assert abs(share - size * mix[name] / sum(mix.values())) < 1
        assert share == 0 or mix[name] > 0


def test_quotas_give_remainders_to_the_first():
    assert quotas(8, {"simple": 50, "reasoning": 25, "conditional": 25}) == {
        "simple": 4,
        "reasoning": 2,
        "conditional": 2,
    }
    assert quotas(1, {"simple": 1, "reasoning": 1}) == {"simple": 1, "reasoning": 0}


def test_parse_mix_returns_weights():
    assert parse_mix(" simple = 50 , reasoning=0.5") == {"simple": 50, "reasoning": 0.5}
    assert parse_mix({"simple": 1}) == {"simple": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("simple", "'simple' is not of the form name=weight"),
        ("simple=1,", "'' is not of the form name=weight"),
        ("simple=x", "the weight of simple is not a number: 'x'"),
        ("simple=1,simple=2", "simple is given twice"),
    ],
)
def test_parse_mix_rejects_malformed_text(text, message):
    with pytest.raises(ValueError, match=message):
        parse_mix(text)
