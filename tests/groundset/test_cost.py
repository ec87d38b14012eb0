"""Prices and amounts."""

import pytest

from groundset.cost import Price, money


def test_price_is_for_a_million_tokens():
    price = Price.parse(" 0.5, 1.5")
    assert price == (0.5, 1.5)
    assert price.of(2_000_000, 1_000_000) == 2.5
    assert price.of_usage({"prompt_tokens": 1_000_000, "calls": 3}) == 0.5


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "x,1", "-1,1", "nan,1", "1,inf"])
def test_wrong_price_is_refused(text):
    with pytest.raises(ValueError, match=r"such as 0\.5,1\.5"):
        Price.parse(text)


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0.00"), (1234.5, "1,234.50"), (0.6, "0.60"), (0.05, "0.050"), (0.00421, "0.0042"), (1e-7, "0.00000010")],
)
def test_amounts_have_two_decimals_or_two_digits(amount, text):
    assert money(amount) == text
