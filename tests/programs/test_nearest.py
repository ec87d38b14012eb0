"""Which demos a call shows out of a pool."""

from collections.abc import Sequence

import numpy as np
import pytest

from programs.nearest import Nearest


def encode(texts: Sequence[str]) -> np.ndarray:
    vectors = np.array([[text.count("a"), text.count("b"), 0.1] for text in texts], dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize(("text", "near"), [("aa", ["a", "aaa"]), ("bb", ["b", "bbb"])])
def test_always_demos_come_before_the_nearest(text: str, near: list[str]) -> None:
    demos = [{"text": "by hand", "always": True}, *({"text": each} for each in ("a", "aaa", "b", "bbb"))]
    shown = [demo["text"] for demo in Nearest(2, encode)(demos, {"text": text})]
    assert shown[0] == "by hand"
    assert sorted(shown[1:]) == near


def test_order_of_fields_does_not_matter() -> None:
    seen: list[list[str]] = []

    def embedded(texts: Sequence[str]) -> np.ndarray:
        seen.append(list(texts))
        return encode(texts)

    demos = [{"fact": each, "topic": "b", "question": "?"} for each in ("a", "aa", "b")]
    stored = [{"question": "?", "topic": demo["topic"], "fact": demo["fact"]} for demo in demos]
    for pool, asked in ((demos, {"topic": "b", "fact": "a"}), (stored, {"fact": "a", "topic": "b"})):
        Nearest(1, embedded)(pool, asked)
    assert seen[:2] == seen[2:]
    assert seen[1] == ["fact: a | topic: b"]


def test_small_pool_is_shown_completely() -> None:
    demos = [{"text": "a"}, {"text": "by hand", "always": True}]
    assert [demo["text"] for demo in Nearest(2, encode)(demos, {"text": "b"})] == ["by hand", "a"]
