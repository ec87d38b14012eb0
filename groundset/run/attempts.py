"""One attempt: the program, the search for the question, the sample."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from pydantic_core import to_jsonable_python

from groundset.corpus.corpus import Corpus
from groundset.programs.faq import STATED
from groundset.programs.forms import PERSONAS
from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.text import text_id
from groundset.programs.types import Sample, StepRecord
from groundset.retrieval.embed import Embedder
from groundset.retrieval.gold import gold
from groundset.retrieval.index import Index, last_rank, ranks_of
from groundset.retrieval.retrievers import bm25
from groundset.run.engine import Made
from groundset.run.options import GenerateOptions
from groundset.run.plan import Task
from groundset.run.recipes import inputs_of
from groundset.run.store import Result

# Otherwise DSPy keeps every call and prediction in memory.
_UNTRACED: Mapping[str, Any] = {"disable_history": True, "trace": None, "max_trace_size": 0}


class Recorder(BaseCallback):
    """Collects what the steps of one attempt say: everything that has the ``name`` of a step."""

    def __init__(self) -> None:
        self.records: list[StepRecord] = []
        self._names: dict[str, str] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Note which step begins."""
        del inputs
        if name := getattr(instance, "name", ""):
            self._names[call_id] = name

    def on_module_end(
        self, call_id: str, outputs: Any, exception: BaseException | None = None
    ) -> None:
        """Record what the step said."""
        name = self._names.pop(call_id, "")
        if name and exception is None and isinstance(outputs, dspy.Prediction):
            said = to_jsonable_python(dict(outputs), fallback=str)
            probability = said.pop("probability", None)
            self.records.append(StepRecord(step=name, output=said, probability=probability))


@dataclass(frozen=True)
class Attempts:
    """Makes attempts; safe to share between threads."""

    options: GenerateOptions
    corpus: Corpus
    index: Index
    embedder: Embedder
    programs: Mapping[str, dspy.Module]
    lm: Any

    @cached_property
    def _by_words(self) -> Callable[[str], list[str]]:
        """Return the search of chunks by words."""
        return bm25({chunk.chunk_id: chunk.text for chunk in self.corpus.chunks})

    def __call__(self, task: Task) -> Made:
        """Make an attempt."""
        recorder = Recorder()
        with dspy.context(lm=self.lm, callbacks=[*dspy.settings.callbacks, recorder], **_UNTRACED):
            made = self._ask(task)
        trail, exhausted = tuple(recorder.records), bool(made.exhausted)
        # None for what is no question.
        near = task.chunks[made.refused] if task.chunks else ""
        rejects = [
            each.model_copy(update={"chunk_id": each.chunk_id or near}) for each in made.rejects
        ]
        if not made.question:
            return Made(Result(rejects=tuple(rejects), trail=trail, exhausted=exhausted))
        sample = self._sample(task, made, trail)
        result = Result(sample=sample, rejects=tuple(rejects), exhausted=exhausted)
        if fault := self._contradiction(sample):
            return Made(result.refused("compare", fault))
        if fault := self._retrieval_fault(sample):
            return Made(result.refused("retrieval", fault))
        # Near duplicates among the user's own questions were grouped before.
        return Made(result, None if task.question else self.embedder.encode([sample.question])[0])

    def _contradiction(self, sample: Sample) -> str | None:
        """Return which document says otherwise that counts more than the sample's own."""
        if not (sample.variants and self.options.prefer):
            return None
        counts = self.corpus.preference(self.options.prefer)
        for each in sample.variants:
            own, other = sample.contexts[each.get("place", 0)], self.corpus.by_id[each["chunk_id"]]
            if counts(other.chunk_id) > counts(own.chunk_id):
                return f"a preferred document says otherwise: {other.path}"
        return None

    def _ask(self, task: Task) -> Any:
        """Call the program of the wanted form with the inputs that it names."""
        form = next(iter(task.wanted), "")
        program = self.programs.get(form, self.programs.get(""))
        options, chunks = self.options, [self.corpus.by_id[chunk_id] for chunk_id in task.chunks]
        personas = options.personas or PERSONAS
        offered: dict[str, Any] = {
            "question": task.question,
            "passages": [chunk.passage for chunk in chunks],
            "topics": [chunk.topic for chunk in chunks],
            "wanted": task.wanted,
            "kinds": task.kinds,
            "asked": task.asked,
            "answers": options.answers,
            "language": options.language or "",
            "persona": personas[task.seed % len(personas)],
            "turn": task.turn,
        }
        for first in chunks[:1]:
            offered |= {"passage": offered["passages"][0], "topic": first.topic}
            offered["before"] = self.corpus.before(first)
            offered["after"] = self.corpus.after(first)
        named = inputs_of(program) or offered.keys()
        return program(**{name: offered[name] for name in offered.keys() & named})

    def _sample(self, task: Task, made: Any, trail: tuple[StepRecord, ...]) -> Sample:
        """Return the sample of a question; one that no chunk answers has the chunks that it was
        made from.
        """
        ids = list(made.context_ids) or [task.chunks[place] for place in made.needed]
        served = zip_longest(ids, made.alternatives, fillvalue=())
        groups = tuple(tuple(dict.fromkeys((own, *others))) for own, others in served)
        read = [reading["chunk_id"] for reading in made.metadata.get("readings", ())]
        contexts = tuple(self.corpus.by_id[chunk_id] for chunk_id in ids or read or task.chunks)
        # A table may state its questions in several languages.
        told = f"{made.question} {made.answer}" if made.kind == STATED else contexts[0].passage
        code = self.options.language or language_of(told)
        question = task.question or LANGUAGES[code].punctuated(made.question)
        index = self.index
        return Sample(
            id=text_id(question, made.answer, *(chunk.chunk_id for chunk in contexts)),
            question=question,
            answer=made.answer,
            evolution=made.evolution,
            language=code,
            contexts=contexts,
            retrieval_gt=groups,
            retrieval=index.rank(question, groups),
            probability=made.probability,
            trail=trail,
            metadata={
                "evidence": list(made.evidence),
                **({"kind": made.kind} if made.kind else {}),
                **made.metadata,
                **({"weight": task.weight} if task.question else {}),
                # With which a person's answer is ranked.
                **({"ranking": [hit.chunk_id for hit in index.search(question)]} if read else {}),
                "attempt": task.number,
            },
        )

    def _retrieval_fault(self, sample: Sample) -> str | None:
        """Return why searches for a question do not find its chunks as the options want it."""
        rank, most = sample.retrieval.rank, self.options.max_rank
        if not sample.retrieval_gt:
            return None
        if most and rank is None:
            return "its chunks are not found"
        if most and rank and rank > most:
            return f"its chunks are too far: rank {rank}"
        if not self.options.hard:
            return None
        [groups] = gold([sample], self.corpus.by_id)
        by_words = last_rank(ranks_of(self._by_words(sample.question), groups))
        if rank != by_words:
            return None
        return f"searches agree on it: rank {rank}" if rank else "no search finds its chunks"
