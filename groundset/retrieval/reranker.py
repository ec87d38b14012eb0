"""Reranking by a cross-encoder: a model that reads a question together with a text and scores the pair."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundset.models.catalogue import CATALOGUE
from groundset.retrieval.loading import check_folder, load_transformer
from groundset.retrieval.parallel import Replicas
from programs.errors import ModelError, UnknownModelError

_BATCH = 16
_CHARACTERS_PER_TOKEN = 200  # texts are truncated before tokenising to save memory, as by the embedder
_HEAD = "ForSequenceClassification"

Pair = tuple[str, str]


class Reranker:
    """A loaded cross-encoder.

    Attributes:
        name: its folder or Hub name.
    """

    def __init__(self, name: str, model: Any) -> None:
        """Wrap a `CrossEncoder` that is already on its device."""
        self.name = name
        self._model = model
        self._replicas = Replicas(model)

    def score(self, pairs: Sequence[Pair], *, on_done: Callable[[int], None] | None = None) -> NDArray[np.float64]:
        """Return one score for each pair of a question and a text; a higher one is better.

        Args:
            pairs: the pairs; what exceeds the model's window is ignored.
            on_done: called after each batch with its number of pairs, from any thread.

        Raises:
            ModelError: a score is not a number.
        """
        import torch

        scores = np.zeros(len(pairs))
        order = sorted(range(len(pairs)), key=lambda index: -sum(map(len, pairs[index])))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        longest = (self._model.max_seq_length or 0) * _CHARACTERS_PER_TOKEN or None
        callback_lock = threading.Lock()

        def predict(model: Any, batch: list[int]) -> None:
            texts = [tuple(text[:longest] for text in pairs[index]) for index in batch]
            # The usual sigmoid gives equal scores to all clear pairs.
            scores[batch] = model.predict(
                texts, batch_size=_BATCH, activation_fn=torch.nn.Identity(), show_progress_bar=False
            )
            if on_done:
                with callback_lock:
                    on_done(len(batch))

        self._replicas.run(predict, batches)
        if not np.isfinite(scores).all():
            raise ModelError(f"--rerank {self.name}: gives scores that are not numbers; check its weights")
        return scores


def load_reranker(spec: str, *, device: str = "cpu") -> Reranker:
    """Load a cross-encoder from a folder, the Hugging Face cache or, if `GROUNDSET_HUB=1` is set, the Hub.

    Raises:
        ModelError: there is no such model, or it is not a cross-encoder with one score.
    """
    if spec in CATALOGUE:
        raise UnknownModelError(f"{spec} is not a cross-encoder; name a folder with one, or a model of the Hub")
    check_folder("reranker", spec)
    model = load_transformer("reranker", spec, str(Path(spec).expanduser()), device)
    # The library adds a head with random weights to a model without one.
    architectures = getattr(model[0].model.config, "architectures", None) or ()
    if len(model) == 1 and not any(name.endswith(_HEAD) for name in architectures):
        raise ModelError(f"reranker {spec!r} is not a cross-encoder: it has no weights that score pairs")
    if model.num_labels != 1:
        raise ModelError(f"reranker {spec!r} gives {model.num_labels} scores for each pair; it must give one")
    return Reranker(spec, model)
