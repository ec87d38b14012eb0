"""What language model calls cost, at a price for each million prompt and generated tokens."""

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

_MILLION = 1_000_000


class Price(NamedTuple):
    """A price in any currency.

    Attributes:
        prompt: for a million prompt tokens.
        generated: for a million generated tokens.
    """

    prompt: float
    generated: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a price such as ``0.5,1.5``.

        Raises:
            ValueError: the text has another form, or a number is negative or not finite.
        """
        try:
            price = cls(*map(float, text.split(",")))
        except (TypeError, ValueError):
            price = None
        if price is None or not all(0 <= each < math.inf for each in price):
            raise ValueError("give the prices of a million prompt and generated tokens as two numbers, such as 0.5,1.5")
        return price

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the cost of prompt and generated tokens."""
        return (self.prompt * prompt_tokens + self.generated * completion_tokens) / _MILLION

    def of_usage(self, usage: Mapping[str, float]) -> float:
        """Return the cost of counted tokens."""
        return self.of(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))


def money(amount: float) -> str:
    """Format an amount with two decimals, or with the two first digits if it is small."""
    decimals = 1 - math.floor(math.log10(amount)) if amount > 0 else 2
    return f"{amount:,.{max(2, decimals)}f}"
