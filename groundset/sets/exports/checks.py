"""What every format asks of an evaluation set, checked before anything is written."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from programs.errors import InputError

if TYPE_CHECKING:
    from groundset.run import Run


def check_set(content: "Run") -> None:
    """Refuse what no reader could use: nothing to ask, ids that are empty or occur twice, references that lead nowhere.

    Raises:
        InputError: the message names the sample or the chunk.
    """
    if not content.samples:
        raise InputError("the run holds no samples, so there is nothing to export")
    _check_unique("question", (sample.id for sample in content.samples))
    _check_unique("chunk", (chunk.chunk_id for chunk in content.chunks))
    known = {chunk.chunk_id for chunk in content.chunks}
    sources = {document.doc_id for document in content.documents}
    for sample in content.samples:
        if not sample.question.strip():
            raise InputError(f"sample {sample.id} has no question")
        if not sample.answer.strip():
            mend = "leave such samples out by `groundset drop --where 'not answer'`"
            raise InputError(f"sample {sample.id} has no answer, which every format asks for; {mend}")
        if not sample.retrieval_gt or not all(sample.retrieval_gt):
            raise InputError(f"sample {sample.id} has no ground-truth chunk")
        missing = [name for group in sample.retrieval_gt for name in group if name not in known]
        if missing:
            raise InputError(f"sample {sample.id} rests on chunk {missing[0]}, which the run does not hold")
    for chunk in content.chunks:
        if chunk.doc_id not in sources:
            raise InputError(f"chunk {chunk.chunk_id} belongs to document {chunk.doc_id}, which is missing")
        if not chunk.text.strip():
            raise InputError(f"chunk {chunk.chunk_id} is empty")


def _check_unique(kind: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in ids:
        if not name.strip():
            raise InputError(f"a {kind} has no id")
        if name in seen:
            raise InputError(f"the {kind} id {name} occurs twice")
        seen.add(name)
