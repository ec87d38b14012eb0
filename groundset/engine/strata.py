"""Strata of chunks for ``--stratify``: one chunk of each is drawn before a second of any.

Within a stratum, chunks are drawn as without strata: one of every document, then a second of each.
"""

from collections.abc import Sequence

from groundset.corpus.chunks import draw_in_turn
from groundset.retrieval.stores.base import Vectors
from programs.errors import InputError
from programs.types import Chunk

DOCUMENT, CLUSTER, COLUMN = "document", "cluster", "column="
_MAX_CLUSTERS = 200


def check_stratify(text: str) -> str:
    """Return the value of ``--stratify``.

    Raises:
        ValueError: it is none.
    """
    if text in (DOCUMENT, CLUSTER) or (text.startswith(COLUMN) and text != COLUMN):
        return text
    raise ValueError(f"choose one of {DOCUMENT}, {CLUSTER}, {COLUMN}NAME")


def by_column(order: Sequence[Chunk], stratify: str, seed: int) -> Sequence[Chunk]:
    """Return chunks in turn for each value of a column of their metadata; unchanged if ``stratify`` names none.

    Chunks without a value are a stratum of their own.

    Raises:
        InputError: no chunk has the column.
    """
    name = stratify.removeprefix(COLUMN)
    if name == stratify:
        return order
    if not any(name in chunk.metadata for chunk in order):
        known = sorted({key for chunk in order for key in chunk.metadata})
        has = f"the columns are {', '.join(known)}" if known else "they have none"
        raise InputError(f"--stratify {stratify}: no chunk has this column in its metadata; {has}")
    return draw_in_turn(order, [str(chunk.metadata.get(name, "")) for chunk in order], seed)


def by_cluster(order: Sequence[Chunk], vectors: Vectors, seed: int) -> list[Chunk]:
    """Return chunks in turn for each cluster of their vectors, a row for each chunk of ``order``.

    The clusters are those of k-means, as many as the root of half the chunks, at most 200.
    """
    from sklearn.cluster import MiniBatchKMeans

    count = max(1, min(_MAX_CLUSTERS, round((len(order) / 2) ** 0.5)))
    found = MiniBatchKMeans(count, n_init=1, random_state=seed % 2**32).fit_predict(vectors)
    return draw_in_turn(order, [str(cluster) for cluster in found], seed)
