"""Round trips measured anew, where samples stand beside other chunks than those that they were made among."""

import numpy as np

from groundset.retrieval.index import SEARCH_DEPTH, ChunkIndex, round_trip
from groundset.retrieval.stores import open_store
from groundset.run import Run
from programs.types import Hit, Sample

_QUESTIONS_AT_ONCE = 256


def with_ranks(content: Run) -> Run:
    """Return the content with the round trip of every sample over all of its chunks.

    ``retrieval_gt`` stays: which chunks answer a question as well is not looked for again.
    """
    vectors = dict(zip((sample.question for sample in content.samples), content.question_vectors, strict=True))
    ids = [chunk.chunk_id for chunk in content.chunks]
    samples: list[Sample] = []
    with open_store("faiss", ids, content.chunk_vectors) as store:
        index = ChunkIndex(content.chunks, store, lambda questions: np.stack([vectors[each] for each in questions]))
        for start in range(0, len(content.samples), _QUESTIONS_AT_ONCE):
            batch = content.samples[start : start + _QUESTIONS_AT_ONCE]
            found = index.search_many([sample.question for sample in batch], min(SEARCH_DEPTH, len(ids)))
            samples += [_placed(sample, hits) for sample, hits in zip(batch, found, strict=True)]
    return content.replace(samples=samples)


def _placed(sample: Sample, hits: list[Hit]) -> Sample:
    metadata = dict(sample.metadata)
    if "source_rank" in metadata or any(len(group) > 1 for group in sample.retrieval_gt):
        own = [(chunk.chunk_id,) for chunk in sample.contexts]
        metadata["source_rank"] = round_trip(hits, own).rank
    return sample.model_copy(update={"retrieval": round_trip(hits, sample.retrieval_gt), "metadata": metadata})
