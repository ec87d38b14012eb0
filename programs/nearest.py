"""Choosing the demos nearest to an input."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import dspy
from dspy.predict.knn import KNN

Select = Callable[[Sequence[Any], Mapping[str, Any]], list[Any]]
ALWAYS = "always"  # the field that marks demos to show in every call
Encode = Callable[[Sequence[str]], Any]


class Nearest:
    """Chooses the demos marked ``always``, and those nearest to the inputs of a call, the most similar last.

    Prompts then differ from their beginning, so servers cannot reuse a cached prefix.
    """

    def __init__(self, count: int, encode: Encode) -> None:
        """Choose ``count`` demos; ``encode`` returns unit vectors."""
        self._count = count
        self._encode = encode
        self._known: dict[tuple[str, ...], KNN] = {}

    def __call__(self, demos: Sequence[Any], inputs: Mapping[str, Any]) -> list[Any]:
        """Return the demos to show in a call."""
        always = [demo for demo in demos if demo.get(ALWAYS)]
        others = [demo for demo in demos if not demo.get(ALWAYS)]
        if len(others) <= self._count:
            return [*always, *others]
        names = sorted(inputs)  # a fixed order, so that stored demos are encoded as when they were compiled
        key = tuple(str(dict(demo)) for demo in others)
        if key not in self._known:
            examples = [_ordered(demo, names).with_inputs(*names) for demo in others]
            self._known[key] = KNN(self._count, examples, vectorizer=self._encode)
        return [*always, *list(self._known[key](**{name: inputs[name] for name in names}))[::-1]]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return self: optimizers copy programs, and the encoder is large."""
        return self


def _ordered(demo: Mapping[str, Any], first: Sequence[str]) -> dspy.Example:
    """Return a demo with some of its fields first."""
    fields = dict(demo)
    return dspy.Example({name: fields[name] for name in first if name in fields} | fields)
