"""A cache of embeddings."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from programs.critics.base import Encoder

_MAX_VECTORS = 16_384  # 25 MB

Vectors = npt.NDArray[np.float32]


class CachingEncoder:
    """Caches vectors, because several decisions need the same passage and its sentences."""

    def __init__(self, encoder: Encoder, permanent: Mapping[str, Vectors] | None = None) -> None:
        """Start with vectors that are never evicted, such as those of the chunks of a run, or with none."""
        self._encoder = encoder
        self._permanent = dict(permanent or {})
        self._cache: dict[str, Vectors] = {}

    def remember(self, vectors: Mapping[str, Vectors]) -> None:
        """Add vectors by text, which may be evicted later."""
        if len(self._cache) + len(vectors) > _MAX_VECTORS:
            self._cache = {}
        self._cache.update(vectors)

    def keep(self, vectors: Mapping[str, Vectors]) -> None:
        """Add vectors by text that are never evicted; those that are known stay the same."""
        for text, vector in vectors.items():
            self._permanent.setdefault(text, vector)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        return self._recall(texts, self._encoder.encode)

    def encode_corpus(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each of many texts; those not in the cache are embedded on all cores."""
        return self._recall(texts, self._encoder.encode_corpus)

    def _recall(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Vectors]) -> Vectors:
        permanent, cache = self._permanent, self._cache
        needed = [text for text in dict.fromkeys(texts) if text not in permanent]
        missing = [text for text in needed if text not in cache]
        if len(cache) + len(missing) > _MAX_VECTORS:
            # Replaced and not cleared, because another thread may be reading from it.
            cache = self._cache = {}
            missing = needed
        if missing:
            cache.update(zip(missing, encode(missing), strict=True))
        return np.stack([permanent[text] if text in permanent else cache[text] for text in texts])
