"""Compare how a corpus is prepared here and by Ray: the same chunks and vectors, seconds, and
memory of the driver.

    python benchmarks/engines.py [--chunks 20000] [--engines local ray=ADDRESS]

Vectors are computed from the words of a chunk, so that the figures are those of reading, cutting
and moving data.
"""

import argparse
import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from groundset.corpus.corpus import read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.corpus.prepare import embedded
from groundset.files import data_path


class WordEmbedder:
    """Embeds texts by the words that they share, in no time."""

    name, sha256, dimension = "words", "0" * 64, 64

    def encode(
        self, texts: Sequence[str], on_done: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """Return a row of length one for each text."""
        del on_done
        words = HashingVectorizer(n_features=self.dimension, alternate_sign=False)
        return np.asarray(words.transform(texts).toarray(), dtype=np.float32)

    def replica(self) -> "WordEmbedder":
        """Return the embedder itself; it holds nothing."""
        return self


def prepare(docs: Path, engine: str) -> None:
    """Prepare a corpus in this process and print a row."""
    began = time.monotonic()
    options = CorpusOptions.parse({"documents": (docs,), "engine": engine})
    corpus = read_corpus(options, notify=lambda line: print(line, file=sys.stderr))
    digest = hashlib.sha256()
    digest.update("".join(chunk.text for chunk in corpus.chunks).encode())
    for vectors in embedded(corpus, WordEmbedder(), engine=engine):  # type: ignore[arg-type]
        digest.update(vectors.tobytes())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent = time.monotonic() - began
    print(
        f"| {engine} | {len(corpus.chunks):,} | {spent:.0f} | {memory:,.0f} |"
        f" {digest.hexdigest()[:16]} |",
        flush=True,
    )


def write_documents(folder: Path, chunks: int) -> None:
    """Write enough text for some chunks of a thousand characters: the sample documents, repeated
    with other names of places, so that no chunk is a copy of another.
    """
    texts = [file.read_text(encoding="utf-8") for file in sorted(data_path("samples").glob("*.md"))]
    written = copy = 0
    while written < chunks * 1000:
        for number, text in enumerate(texts):
            words = (
                f"{word}{copy}" if word[:1].isupper() and copy else word for word in text.split(" ")
            )
            (folder / f"{number}-{copy}.md").write_text(" ".join(words), encoding="utf-8")
            written += len(text)
        copy += 1


def main() -> None:
    """Prepare the same documents with each engine, in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--engines", nargs="+", default=["local"])
    parser.add_argument("--one", nargs=2, metavar=("DOCS", "ENGINE"))
    given = parser.parse_args()
    if given.one:
        prepare(Path(given.one[0]), given.one[1])
        return
    print("| engine | chunks | seconds | driver, MB | digest |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as place:
        write_documents(Path(place), given.chunks)
        for engine in given.engines:
            subprocess.run([sys.executable, __file__, "--one", place, engine], check=True)


if __name__ == "__main__":
    main()
