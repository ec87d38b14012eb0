"""A toy language: some Swedish."""

from programs.languages.base import Language
from programs.languages.words import at_start, whole_words, word_list

SWEDISH = Language(
    code="sv",
    stemmer="swedish",
    stop_words=word_list("av den efter en ett hade i och om som till var"),
    question_words=word_list("hur när vad vem vilket"),
    dependent_start=at_start(r"(?:den|det|de|han|hon)\b"),
    loose_pronoun=whole_words("han", "hon"),
    months="januari|februari|mars|april|maj|juni|juli|augusti|september|oktober|november|december",
    openings={"year": "Vilket år", "date": "Vilken dag"},
)
