"""Who is asked about what a step wrote while it is compiled."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import dspy

from groundset.engine.states import SHIPPED, Users, load_compiled
from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import open_store
from groundset.runtime.lms import LanguageModel
from optimizers.steps.base import Judges
from programs.critics import open_critics
from programs.deciding import decide
from programs.errors import InputError
from programs.languages.table import Languages
from programs.steps import STEPS
from programs.steps.demos import Demos, in_language
from programs.text import plain
from programs.types import Chunk


def open_judges(
    embedder: Any,
    model: Callable[[], LanguageModel],
    passages: Sequence[str],
    *,
    languages: Languages,
    demos: Demos,
    say: Callable[[str], object],
) -> Judges:
    """Return the shipped critic of questions, a search over all labelled passages, and the model's step ``answer``.

    Raises:
        InputError: the shipped critic has another embedder.
    """
    compiled = load_compiled(SHIPPED, Users("head", embedder.sha256))
    if "judge" not in compiled.states:
        raise InputError("--embedder: what steps write is measured by the shipped critic, which has another embedder.")
    critic = open_critics("head", languages=languages, embedder=embedder, heads=compiled.heads)["judge"]
    judge = STEPS["judge"].predictor()
    judge.load_state(compiled.predictors["judge"])

    @cache
    def index() -> tuple[ChunkIndex, dict[str, str]]:
        texts = list(dict.fromkeys(plain(passage) for passage in passages))
        say(f"Embedding {len(texts):,} labelled passages, to search for questions among them")
        made = [
            Chunk(chunk_id=str(n), doc_id="labels", path="", title="", start=0, end=len(text), text=text)
            for n, text in enumerate(texts)
        ]
        known = {chunk.text: chunk.chunk_id for chunk in made}
        store = open_store("faiss", [chunk.chunk_id for chunk in made], embedder.encode(texts))
        return ChunkIndex(made, store, embedder.encode), known

    def rank(question: str, passage: str) -> int | None:
        found, known = index()
        return found.rank(question, ((known[passage],),)).rank

    predict = STEPS["answer"].predictor(demos.get("answer", ()))

    def answer(topic: str, passage: str, question: str) -> str:
        shown = in_language(predict.demos, languages.of(passage).code)
        with dspy.context(lm=model().lm, adapter=model().adapter):
            return str(predict(demos=shown, topic=topic, passage=passage, question=question).answer)

    return Judges(
        judge=lambda passage, question: decide(judge, critic, passage=passage, question=question),
        rank=rank,
        answer=answer,
        languages=languages,
    )
