import pytest
from elsewhere import Elsewhere

from groundset.engine import embedding
from groundset.engine.embedding import embed_texts
from groundset.executors import LOCAL
from groundset.retrieval.embedder import load_embedder


@pytest.mark.model
def test_vectors_are_the_same_bytes_on_every_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_SLICE", 16)
    texts = [f"Lamp {number}. " + "It is lit at dusk. " * (number * 7 % 5) for number in range(40)]
    embedder, done = load_embedder("all-minilm-l6-v2"), [0, 0]

    def vectors(where: int) -> bytes:
        def advance(count: int) -> None:
            done[where] += count

        return bytes(
            embed_texts(texts, embedder.encode_corpus, (LOCAL, Elsewhere(pickles=False))[where], advance).tobytes()
        )

    assert vectors(0) == vectors(1)
    assert done == [40, 40]
