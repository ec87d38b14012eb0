"""From the outcome of an attempt to samples and rejects: quotas, duplicates, provenance."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from groundset.engine.duplicates import Duplicates, Encode, Vectors, source_of
from groundset.store.tables import Verdict
from programs.recipes.kinds import KEPT_ROUNDS
from programs.types import Attempt, Draft, Outcome, Reject, Sample


class Settlement(NamedTuple):
    """Everything that follows from one outcome."""

    verdict: Verdict
    sample: Sample | None
    vector: Vectors | None
    rejects: tuple[Reject, ...]


class Decider:
    """Decides outcomes one after the other, in the order of their attempts.

    The drafts of an outcome are looked at in their order, and the first that nothing is wrong with is taken. Two steps
    refuse here: ``duplicate``, and ``mix`` for a good question of an evolution or a kind of which there are enough.
    Once every chunk has been drawn some times, a mix that has simple questions gives way to the size: evolutions and
    kinds may be more than these documents and this model can give. What was good before that is put off until then,
    and no reject.
    """

    def __init__(
        self, shares: Mapping[str, int], limits: Mapping[str, int], encode: Encode, *, mix_rounds: int = 1
    ) -> None:
        """Start with nothing accepted.

        Args:
            shares: how many samples of each evolution are wanted.
            limits: the most questions of a kind, for kinds that have a limit.
            encode: texts to vectors, to find duplicates.
            mix_rounds: rounds in which a mix that has simple questions is kept to.
        """
        self._shares, self._limits = shares, limits
        self._mix_rounds = mix_rounds
        self._gives_way = shares.get("simple", 0) > 0
        self._duplicates = Duplicates(encode)
        self.accepted: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()

    def restore(self, samples: Iterable[tuple[Sample, Vectors]]) -> None:
        """Take up what an earlier process accepted."""
        for sample, vector in samples:
            self.accepted[sample.evolution] += 1
            self._kinds[str(sample.metadata.get("kind"))] += 1
            self._duplicates.add(sample.question, vector, **source_of(sample))

    @property
    def is_full(self) -> bool:
        """Say whether all samples that were asked for are there."""
        return self.accepted.total() == sum(self._shares.values())

    def decide(self, attempt: Attempt, outcome: Outcome) -> Settlement:
        """Accept one question of an outcome, or none."""
        rejects, put_off = list(outcome.rejects), False
        for draft in outcome.drafts:
            vector = self._duplicates.vector(draft.question)
            refusal = self._refusal(attempt, draft, vector)
            if refusal is None:
                self.accepted[draft.evolution] += 1
                self._kinds[str(draft.metadata.get("kind"))] += 1
                self._duplicates.add(draft.question, vector, **source_of(draft))
                verdict = Verdict(draft.evolution, outcome.exhausted, outcome.asked)
                return Settlement(verdict, make_sample(attempt, draft), vector, tuple(rejects))
            step, reason, later = refusal
            if later:
                put_off = True
                continue
            chunk_id = draft.contexts[0].chunk_id
            told = {"probability": draft.probability, "question": draft.question}
            rejects.append(Reject(step=step, reason=reason, chunk_id=chunk_id, **told))
        return Settlement(Verdict(None, outcome.exhausted, outcome.asked, put_off), None, None, tuple(rejects))

    def _refusal(self, attempt: Attempt, draft: Draft, vector: Vectors) -> tuple[str, str, bool] | None:
        """Return the step that refuses a draft, why, and whether it may be wanted later."""
        kind = str(draft.metadata.get("kind"))
        enough = self.accepted[draft.evolution] >= self._shares.get(draft.evolution, 0)
        if enough and (attempt.round < self._mix_rounds or not self._gives_way):
            return "mix", f"there are enough {draft.evolution} questions", self._gives_way
        most = self._limits.get(kind)
        if most is not None and self._kinds[kind] >= most and (attempt.round < KEPT_ROUNDS or not most):
            return "mix", f"there are enough questions that ask for a {kind}", most > 0
        repeated = self._duplicates.find(draft.question, vector, **source_of(draft))
        if repeated is not None:
            question, similarity = repeated
            return "duplicate", f"repeats an accepted question: {question!r} (similarity {similarity:.2f})", False
        return None


def make_sample(attempt: Attempt, draft: Draft) -> Sample:
    """Return the sample that an accepted draft becomes; its id follows from what it says and rests on."""
    ids = tuple(chunk.chunk_id for chunk in draft.contexts)
    text = "\0".join((draft.question, draft.answer, *ids))
    return Sample(
        id=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        question=draft.question,
        answer=draft.answer,
        evolution=draft.evolution,
        language=attempt.contexts[0].language,
        contexts=draft.contexts,
        retrieval_gt=draft.relevant,
        retrieval=draft.retrieval,
        probability=draft.probability,
        split=draft.split,
        trail=draft.trail,
        metadata={**draft.metadata, "attempt": attempt.number, "round": attempt.round, "seed": attempt.seed},
    )
