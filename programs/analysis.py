"""Analysis of a chunk without a language model: its language, what it can be asked, which evolutions fit.

Of a long chunk, only the beginning is analysed.
"""

from programs.evolutions import EVOLUTIONS
from programs.focus import foci_of
from programs.languages.table import Languages
from programs.text import MAX_READ, plain
from programs.types import Chunk, Context

_MAX_TOPIC = 1_000  # characters; a title with the headings of all levels has some hundred, and each prompt repeats them


def read_chunk(chunk: Chunk, languages: Languages) -> Context:
    """Return a chunk with its analysis; evolutions are looked for where a question is easy."""
    passage, topic = plain(chunk.text[:MAX_READ]), plain(chunk.topic[:_MAX_TOPIC])
    code = languages.of(passage).code
    foci = foci_of(passage, topic, code, languages)
    parsed = languages.syntax_in(code) is not None
    context = Context(chunk=chunk, passage=passage, topic=topic, language=code, parsed=parsed, foci=tuple(foci))
    grows = {
        name: tuple(
            place for place, focus in enumerate(foci) if focus.easy and by_syntax.can_grow(focus, context, languages)
        )
        for name, evolution in EVOLUTIONS.items()
        if (by_syntax := evolution.by_syntax) is not None
    }
    return context.model_copy(update={"grows": grows})
