"""Mode ``sentence``: the model reads one sentence, chooses what to ask about it and says which words are the answer."""

from dataclasses import replace
from functools import partial

from programs.modes.guided import MODE as GUIDED
from programs.modes.guided import Ask

MODE = replace(
    GUIDED,
    name="sentence",
    about="The model reads one sentence and chooses what to ask and which of its words are the answer.",
    steps=("pair",),
    asker=partial(Ask, pairs=True),
    needs_syntax=False,
)
