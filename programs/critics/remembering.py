"""One memory of vectors for all critics of a run."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from programs.critics.base import Encoder

_KEPT_VECTORS = 16_384  # 25 MB


class RememberingEncoder:
    """Keeps the latest vectors, because several decisions look at the same passage and its sentences."""

    def __init__(self, encoder: Encoder) -> None:
        """Start with nothing remembered."""
        self._encoder = encoder
        self._known: dict[str, npt.NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one row for each text."""
        known = self._known
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if len(known) + len(missing) > _KEPT_VECTORS:
            # Not cleared: another thread may be about to read from it.
            known = self._known = {}
            missing = list(dict.fromkeys(texts))
        if missing:
            known.update(zip(missing, self._encoder.encode(missing), strict=True))
        return np.stack([known[text] for text in texts])
