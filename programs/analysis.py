"""Analysis of a chunk without a language model: its language, its foci, and the evolutions of each.

Only the beginning of a long chunk is analysed.
"""

from programs.evolutions import EVOLUTIONS
from programs.focus import foci_of
from programs.languages.table import Languages
from programs.text import MAX_READ, plain
from programs.types import Chunk, Context

_MAX_TOPIC = 1_000  # characters; typical are some hundred, and each prompt repeats them


def passage_of(chunk: Chunk) -> str:
    """Return the text of a chunk as prompts and critics see it."""
    return plain(chunk.text[:MAX_READ])


def read_chunk(chunk: Chunk, languages: Languages) -> Context:
    """Return a chunk with its analysis; evolutions are determined for easy foci only."""
    passage, topic = passage_of(chunk), plain(chunk.topic[:_MAX_TOPIC])
    code = languages.of(passage).code
    foci = foci_of(passage, topic, code, languages)
    parsed = languages.syntax_in(code) is not None
    context = Context(chunk=chunk, passage=passage, topic=topic, language=code, parsed=parsed, foci=tuple(foci))
    evolvable = {
        name: tuple(n for n, focus in enumerate(foci) if focus.easy and by_syntax.can_evolve(focus, context, languages))
        for name, evolution in EVOLUTIONS.items()
        if (by_syntax := evolution.by_syntax) is not None
    }
    return context.model_copy(update={"evolvable": evolvable})
