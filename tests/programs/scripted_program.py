"""Test doubles for programs: a scripted generator, a scripted critic, retrievers with fixed results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import dspy
from dspy.lm15 import Message, Request, Response, Usage

from groundset.runtime.adapter import PlainTextAdapter
from programs.analysis import read_chunk
from programs.facts import rare_names
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.modes import MODES
from programs.recipes import RECIPES
from programs.recipes.base import Material, Past
from programs.steps import STEPS
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Chunk, Context, Focus, Hit, Outcome, Parse, Program, Retrieval, StepRecord

PAIR = "Answer: 22 February 2009\nQuestion: On what date did the Henn Lady strike the Grey Widow?"
TEXT = (
    "The Henn Lady carries 36 cars and was built at the Lodrin yard in 2004. "
    "On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of Sandgate, while avoiding a "
    "small fishing boat."
)
GOOD = "On what date did the Henn Lady strike the Grey Widow?"
WRITING = {
    "List three": "keyphrases",
    "Write one question that compares": "multi_context",
    "Write one question": "question",
    "Ask one question about": "pair",
    "Write a phrase that stands": "describe",
    "Split the question": "split",
    "Say in one or two": "reasoning",
    "Rewrite the question so": "conditional",
    "Say the question": "compress",
    "Say in one short": "feedback",
    "Rewrite the question as": "rewrite",
    "Answer the question in one to three": "open_answer",
    "Answer the question": "answer",
    "Write questions that a user": "ask",
    "Write a question that a user": "unanswerable",
    "Write the next question": "follow_up",
    "Write questions that need all": "combine",
    "Change the question": "evolve",
    "Write the answer in other": "vary",
    "Translate the text": "translate",
    "Write clues": "clues",
    "Choose the passages": "distil",
    "Suggest profiles": "profiles",
    "Write a question that fits": "ask_profiled",
    "Word the question": "reword",
}
# Two facts that share a name, which the second one describes.
FOUNDED = ("The Lodrin yard was founded by the shipwright Anna Brock in 1911.", "1911")
BROCK = ("Anna Brock grew up in Sandgate and studied navigation.", "Sandgate")
DECIDING = [name for name, step in STEPS.items() if step.decides and not step.gives_reasons]  # without a panel
Script = Mapping[str, str | Sequence[str]]
Bad = Callable[[str, dict[str, Any]], bool]


def nothing_is_bad(name: str, inputs: dict[str, Any]) -> bool:
    return False


def chunk_of(text: str = TEXT, name: str = "ferry-0001", doc_id: str = "ferry", title: str = "Henn ferry") -> Chunk:
    return Chunk(chunk_id=name, doc_id=doc_id, path="ferry.md", title=title, start=0, end=len(text), text=text)


def context_of(name: str, *facts: tuple[str, str], language: str = "en", topic: str = "", doc_id: str = "") -> Context:
    """Return a chunk of sentences with their answers as foci, by default in a separate document."""
    text = " ".join(sentence for sentence, _ in facts)
    foci = tuple(Focus(sentence=sentence, answer=answer) for sentence, answer in facts)
    chunk = chunk_of(text, name, doc_id or name, topic or name)
    return Context(chunk=chunk, passage=text, topic=chunk.topic, language=language, foci=foci)


def with_names(*contexts: Context) -> tuple[Context, ...]:
    """Return contexts with their rare names."""
    names = rare_names(contexts, languages_with(None))
    return tuple(one.model_copy(update={"names": names[one.chunk.chunk_id]}) for one in contexts)


class ScriptedEngine:
    """Answers each step with its next scripted completion; the last one is repeated."""

    def __init__(self, script: Script) -> None:
        script = {
            "keyphrases": "22 February 2009",
            "pair": PAIR,
            "question": GOOD,
            "answer": "22 February 2009",
            **script,
        }
        self._script = {step: [lines] if isinstance(lines, str) else list(lines) for step, lines in script.items()}
        self.steps: list[str] = []
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Response:
        step = next(name for opening, name in WRITING.items() if str(request.system).startswith(opening))
        self.steps.append(step)
        self.requests.append(request)
        lines = self._script[step]
        text = lines.pop(0) if len(lines) > 1 else lines[0]
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(id=None, model="local/x", message=Message.assistant(text), finish_reason="stop", usage=usage)

    @property
    def lm(self) -> dspy.LM:
        return dspy.LM("local/x", engine=self, cache=False, num_retries=0)


class ScriptedCritic:
    """Accepts everything except outputs and inputs for which ``bad`` is true; ``fit`` is bad if another output is.

    ``low`` is the probability of bad outputs, ``reason`` the reason for all of them.
    """

    supports_decision_requests = True

    def __init__(self, bad: Bad = nothing_is_bad, low: float = 0.4, reason: str = "") -> None:
        self._bad = bad
        self._low = low
        self._reason = reason
        self.asked: list[dict[str, Any]] = []

    def embed_ahead(self, rows: Sequence[Mapping[str, str]]) -> None:
        pass

    def __call__(self, state: dict[str, Any], questions: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(state["inputs"])
        answers: dict[str, Any] = {}
        for name, question in questions.items():
            outputs = questions if name == "fit" else [name]
            probability = self._low if any(self._bad(output, state["inputs"]) for output in outputs) else 0.9
            if question["type"] == "noul":
                answers[name] = {"noul": 1 - probability if name == "same" else probability}
            else:
                answers[name] = {"probabilities": {"0": 0.0, "1": 0.5, "2": 0.5}, "confidence": 0.0}
            if self._reason:
                answers[name]["reason"] = self._reason
        return answers


class FixedRetriever:
    """Returns the same rank for every question, except those in ``ranks``."""

    def __init__(self, rank: int | None = 1, ranks: Mapping[str, int | None] | None = None) -> None:
        self._rank = rank
        self._ranks = ranks or {}
        self.relevant: list[Any] = []

    def search(self, query: str, limit: int) -> list[Hit]:
        return []

    def rank(self, query: str, relevant: Sequence[Sequence[str]]) -> Retrieval:
        self.relevant.append(relevant)
        rank = self._ranks.get(query, self._rank)
        return Retrieval(rank=rank, retrieved_id="x", retrieved_content="", score=1 if rank == 1 else 0)


class ListRetriever:
    """Returns the same chunks for every question, in this order."""

    def __init__(self, *chunks: Chunk) -> None:
        self._hits = [
            Hit(chunk_id=chunk.chunk_id, text=chunk.text, similarity=0.5, topic=chunk.topic) for chunk in chunks
        ]

    def search(self, query: str, limit: int) -> list[Hit]:
        return self._hits[:limit]

    def rank(self, query: str, relevant: Sequence[Sequence[str]]) -> Retrieval:
        ids = [hit.chunk_id for hit in self._hits]
        found = [min((ids.index(name) + 1 for name in group if name in ids), default=None) for group in relevant]
        ranks = [rank for rank in found if rank is not None]
        rank = max(ranks) if ranks and len(ranks) == len(found) else None
        first = 1 if any(ids[0] in group for group in relevant) else 0
        return Retrieval(rank=rank, retrieved_id=ids[0], retrieved_content=self._hits[0].text, score=first)


class Parsing:
    """Returns the same parse for every sentence; supports no language if it is None."""

    def __init__(self, parsed: Any | None) -> None:
        self._parsed = parsed

    def __call__(self, sentence: str, language: str) -> Any | None:
        return self._parsed

    def read_ahead(self, sentences: Iterable[str], language: str) -> None:
        pass

    def reads(self, language: str) -> bool:
        return self._parsed is not None


def languages_with(parse: Parse | None) -> Languages:
    return Languages(LANGUAGES, parse)


def tools_of(*, bad: Bad = nothing_is_bad, rank: int | None = 1, parse: Parse | None = None, **others: Any) -> Tools:
    parts = {"critics": dict.fromkeys(DECIDING, ScriptedCritic(bad)), "retriever": FixedRetriever(rank), **others}
    return Tools(languages=languages_with(parse), **parts)


def material_of(
    contexts: Sequence[Context], near: Mapping[str, Mapping[str, float]] | None = None, mode: str = "guided"
) -> Material:
    """Return the material of an agenda; ``near`` has the similarities of each chunk's neighbours."""

    def hits(chunk_id: str, limit: int) -> list[Hit]:
        found = (near or {}).get(chunk_id, {}).items()
        return [Hit(chunk_id=name, text="", similarity=similarity) for name, similarity in found][:limit]

    return Material(contexts, hits, languages_with(None), MODES[mode])


def offers_of(
    recipe: str,
    contexts: Sequence[Context],
    past: Sequence[Past] = (),
    *,
    round: int = 0,
    size: int = 20,
    **options: Any,
) -> Mapping[str, tuple[Context, ...]]:
    """Return the offers of a recipe's agenda for the first of some contexts."""
    row = RECIPES[recipe]
    agenda = row.agenda(material_of(contexts), row.options(**options), size)
    return agenda.offers(contexts[0].chunk.chunk_id, round, past)


def attempt_on(
    recipe: str, wanted: str, chunk: Chunk, parse: Parse | None, *, round: int = 0, **options: Any
) -> Attempt | None:
    """Return the attempt that a run would make on a chunk, None if it would make none."""
    contexts = offers_of(recipe, [read_chunk(chunk, languages_with(parse))], round=round, **options).get(wanted)
    return contexts and Attempt(number=0, contexts=contexts, wanted=wanted, round=round)


def make_attempt(program: Program, attempt: Attempt, engine: ScriptedEngine) -> tuple[Outcome, list[StepRecord]]:
    seen: list[StepRecord] = []
    with dspy.context(lm=engine.lm, adapter=PlainTextAdapter()):
        return program(attempt=attempt, observer=seen.append), seen


def trail_of(attempt: Attempt) -> tuple[Trail, list[StepRecord]]:
    """Return the trail of an attempt, and the list of observed records."""
    seen: list[StepRecord] = []
    return Trail(attempt, seen.append), seen


def reasons(outcome: Outcome) -> list[tuple[str, str]]:
    return [(reject.step, reject.reason.split(":")[0]) for reject in outcome.rejects]
