"""What several tests of the application are handed."""

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest


class WordEncoder:
    """Embeds texts by the words that they share, in no time; ``sha256`` is whatever weights it stands for."""

    def __init__(self, sha256: str) -> None:
        self.sha256 = sha256

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 64] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.fixture(scope="session")
def word_encoder() -> Callable[[str], WordEncoder]:
    return WordEncoder
