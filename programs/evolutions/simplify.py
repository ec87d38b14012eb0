"""Evolution ``simplify``: rephrases the question in at most 15 plain words."""

from programs.evolutions.base import SHORT, Evolution

EVOLUTION = Evolution(
    "simplify",
    "Rephrases the question in at most 15 plain words.",
    change="Say the question in plain everyday words, at most fifteen of them. It must ask for the same thing and "
    "still name its subject.",
    max_words=SHORT,
    keeps_meaning=True,
)
