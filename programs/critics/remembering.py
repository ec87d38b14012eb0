"""One cache of vectors for everything that is embedded in a run."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from programs.critics.base import Encoder

_KEPT_VECTORS = 16_384  # 25 MB

Vectors = npt.NDArray[np.float32]


class RememberingEncoder:
    """Caches the latest vectors, because several decisions look at the same passage and its sentences.

    Those of the chunks of a run are given, and never forgotten: many passages are the text of their chunk.
    """

    def __init__(self, encoder: Encoder, given: Mapping[str, Vectors] | None = None) -> None:
        """Start with the vectors of some texts, or with none."""
        self._encoder = encoder
        self._given = given or {}
        self._known: dict[str, Vectors] = {}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        return self._recall(texts, self._encoder.encode)

    def encode_corpus(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each of many texts; those not in the cache are embedded on all cores."""
        return self._recall(texts, self._encoder.encode_corpus)

    def _recall(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Vectors]) -> Vectors:
        given, known = self._given, self._known
        wanted = [text for text in dict.fromkeys(texts) if text not in given]
        missing = [text for text in wanted if text not in known]
        if len(known) + len(missing) > _KEPT_VECTORS:
            # Not cleared: another thread may be about to read from it.
            known = self._known = {}
            missing = wanted
        if missing:
            known.update(zip(missing, encode(missing), strict=True))
        return np.stack([given[text] if text in given else known[text] for text in texts])
