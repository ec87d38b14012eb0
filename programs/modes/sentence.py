"""Mode ``sentence``: the model reads one sentence, chooses a question about it and marks the answer."""

from dataclasses import replace
from functools import partial

from programs.modes.guided import MODE as GUIDED
from programs.modes.guided import Ask

MODE = replace(
    GUIDED,
    name="sentence",
    about="The model reads one sentence and chooses the question and the words that answer it.",
    steps=("pair",),
    asker=partial(Ask, pairs=True),
    needs_syntax=False,
)
