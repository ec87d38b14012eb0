"""What the records of a run say of each other."""

from collections.abc import Sequence

from groundset.store.run_store import RunStore
from programs.types import Chunk, Document, Sample


def check_references(
    store: RunStore, samples: Sequence[Sample], chunks: Sequence[Chunk], documents: Sequence[Document]
) -> None:
    """Refuse a run whose samples rest on chunks, or whose chunks on documents, that it does not hold.

    Raises:
        DamagedRunError: the message names the sample or the chunk.
    """
    sources, known = {document.doc_id for document in documents}, {chunk.chunk_id: chunk.doc_id for chunk in chunks}
    for chunk in chunks:
        if chunk.doc_id not in sources:
            raise store.damaged(f"chunk {chunk.chunk_id} is of a document that it does not hold")
    for sample in samples:
        groups = sample.retrieval_gt
        is_held = all(known.get(chunk.chunk_id) == chunk.doc_id for chunk in sample.contexts)
        is_found = all(group and known.keys() >= set(group) for group in groups)
        if not (sample.contexts and groups and is_held and is_found):
            raise store.damaged(f"sample {sample.id} rests on a chunk that it does not hold")
