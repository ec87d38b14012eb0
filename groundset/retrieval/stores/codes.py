"""Approximate search of many rows with FAISS: all rows are compared by short codes, the best proposals exactly.

Product quantization with 4 bits for every two dimensions: 96 bytes for a row of 384 dimensions instead of 1,536. FAISS
compares codes in registers of the processor, at 1,000,000 rows 20 times as fast as rows. In benchmarks/README.md it is
compared with exact search, IVF and HNSW.

The format of an index file is our own, because FAISS may crash on a damaged file of its own: a line of JSON
(:class:`_Header`), the centroids as float32, and a code for each row. Every byte of a code is valid. A file that is
damaged, or of other rows, is replaced.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundset.files import whole_file
from groundset.retrieval.stores.base import Indexes, Recall, StoreContents, Vectors, VectorStore
from programs.errors import InputError, RunError
from programs.untrusted import opened

_FORMAT = 1
_BITS = 4
_TRAINING_ROWS = 20_000
_CENTROID_BYTES = 4
_BATCH = 1 << 16
_HEADER_BYTES = 4096
_QUERIES, _NEAREST = 100, 10
_NOISE = 0.75  # length: queries have a cosine of 0.8 to a row, as questions to their chunk

Codes = NDArray[np.uint8]


class _Header(BaseModel):
    """The first line of an index file.

    Attributes:
        format: the version of the format.
        vectors: the SHA-256 of the rows.
        content: the SHA-256 of what follows the line.
        recall_at_10: the recall measured when the index was built.
        queries: the number of queries in that measurement.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    format: int
    vectors: str
    content: str
    recall_at_10: float = Field(ge=0, le=1)
    queries: int = Field(ge=1)


class CodesBackend:
    """Rows as short codes in an ``IndexPQFastScan``."""

    index = "pq4"

    def __init__(self, content: Codes, count: int, dimension: int) -> None:
        """Load the content of an index file."""
        import faiss

        quantizer = _quantizer(dimension)
        split = _centroids_size(dimension)
        faiss.copy_array_to_vector(np.frombuffer(content[:split], dtype=np.float32), quantizer.pq.centroids)
        faiss.copy_array_to_vector(content[split:], quantizer.codes)
        quantizer.is_trained, quantizer.ntotal = True, count
        self._index: Any = faiss.IndexPQFastScan(quantizer)
        self.recall = Recall(0.0, 0)

    @classmethod
    def opened(cls, contents: StoreContents, file: Path) -> Self:
        """Load the index in a file; if there is none of these rows, build and write it.

        Raises:
            RunError: it cannot be written.
        """
        rows = contents.rows
        vectors = hashlib.sha256(rows.data).hexdigest()
        found = _read(file, vectors, rows.shape)
        if found is not None:
            header, content = found
            backend = cls(content, *rows.shape)
            backend.recall = Recall(header.recall_at_10, header.queries)
            return backend
        with contents.phase("Indexing vectors", len(rows)) as advance:
            content = _build(rows, advance)
        backend = cls(content, *rows.shape)
        backend.recall = _measure(backend, rows)
        header = _Header(
            format=_FORMAT,
            vectors=vectors,
            content=hashlib.sha256(content.data).hexdigest(),
            recall_at_10=backend.recall.at_10,
            queries=backend.recall.queries,
        )
        try:
            with whole_file(file, follow=False) as aside, aside.open("wb") as stream:
                stream.write(header.model_dump_json().encode() + b"\n")
                stream.write(content.data)
        except InputError as error:
            raise RunError(str(error)) from error
        return backend

    def propose(self, vectors: Vectors, limit: int) -> Indexes:
        """Return the indexes of the rows whose codes are nearest."""
        indexes: Indexes = self._index.search(np.ascontiguousarray(vectors), limit)[1]
        for query in np.flatnonzero((indexes < 0).any(axis=1)):  # FAISS may leave out the least similar rows of all
            missing = indexes[query] < 0
            others = np.setdiff1d(np.arange(self._index.ntotal), indexes[query])
            indexes[query, missing] = others[: missing.sum()]
        return indexes

    def close(self) -> None:
        """Free the codes."""
        self._index.reset()


def _quantizer(dimension: int) -> Any:
    import faiss

    return faiss.IndexPQ(dimension, _parts(dimension), _BITS, faiss.METRIC_INNER_PRODUCT)


def _parts(dimension: int) -> int:
    """Return into how many equal parts a row is divided, each of which has a code."""
    return dimension if dimension % 2 else dimension // 2


def _centroids_size(dimension: int) -> int:
    return (1 << _BITS) * dimension * _CENTROID_BYTES


def _build(rows: Vectors, advance: Callable[[int], object]) -> Codes:
    """Return the centroids, trained on a sample, and the code of each row.

    The same rows give the same bytes: the sample and FAISS's generator have fixed seeds. FAISS's threads would not
    change them, but slow down training.
    """
    import faiss

    count, dimension = rows.shape
    generator = np.random.default_rng(0)
    sample = np.sort(generator.choice(count, min(count, _TRAINING_ROWS), replace=False))
    quantizer = _quantizer(dimension)
    split = _centroids_size(dimension)
    content = np.empty(split + count * quantizer.sa_code_size(), dtype=np.uint8)
    with _one_thread():
        quantizer.train(rows[sample])
        content[:split] = faiss.vector_to_array(quantizer.pq.centroids).view(np.uint8)
        codes = content[split:].reshape(count, -1)
        for start in range(0, count, _BATCH):
            part = slice(start, start + _BATCH)
            codes[part] = quantizer.sa_encode(rows[part])
            advance(len(codes[part]))
    return content


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread of FAISS."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _read(file: Path, vectors: str, shape: tuple[int, ...]) -> tuple[_Header, Codes] | None:
    """Return the header and content of an index file; None if it is missing, damaged or of other rows."""
    count, dimension = shape
    try:
        with opened(file) as stream:
            header = _Header.model_validate_json(stream.readline(_HEADER_BYTES))
            start = stream.tell()
        content = np.memmap(file, dtype=np.uint8, mode="r", offset=start)
    except (OSError, InputError, ValidationError, ValueError):
        return None
    split = _centroids_size(dimension)
    size = split + count * -(-_parts(dimension) * _BITS // 8)
    if (header.format, header.vectors, len(content)) != (_FORMAT, vectors, size):
        return None
    if (
        hashlib.sha256(content.data).hexdigest() != header.content
        or not np.isfinite(content[:split].view(np.float32)).all()
    ):
        return None
    return header, content


def _measure(backend: CodesBackend, rows: Vectors) -> Recall:
    """Measure the recall against exact search, for rows of a seeded sample with noise as queries."""
    import faiss

    generator = np.random.default_rng(1)
    chosen = rows[np.sort(generator.choice(len(rows), min(len(rows), _QUERIES), replace=False))]
    noise = generator.standard_normal(chosen.shape, dtype=np.float32)
    queries = chosen + _NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    exact = faiss.knn(queries, rows, _NEAREST, metric=faiss.METRIC_INNER_PRODUCT)[1]
    found = VectorStore((), rows, backend).search(queries, _NEAREST).indexes
    shared = sum(len({*one} & {*other}) for one, other in zip(exact.tolist(), found.tolist(), strict=True))
    return Recall(round(shared / exact.size, 4), len(queries))
