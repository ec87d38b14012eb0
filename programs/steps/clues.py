"""Step ``clues``: writes possible questions as queries for a search."""

from programs.steps.base import Step
from signatures.clues import Clue, WriteClues

STEP = Step("clues", WriteClues, limits={"max_tokens": 600, "temperature": 0.0})


def tidy_clues(written: list[Clue], count: int) -> list[Clue]:
    """Return up to ``count`` clues without empty and repeated ones; texts are on one line."""
    clues: dict[str, Clue] = {}
    for each in written:
        texts = {name: " ".join(text.split()) for name, text in each.model_dump().items()}
        if texts["clue"]:
            clues.setdefault(texts["clue"].casefold(), Clue(**texts))
    return list(clues.values())[:count]


def query_of(clue: Clue) -> str:
    """Return the search query of a clue: the clue with its example and description."""
    return " ".join(filter(None, (clue.clue, clue.example, clue.description)))


def question_of(clue: Clue) -> str:
    """Return a clue as critics see it: the question and what is to be found out, without the invented example."""
    return f"{clue.clue} ({clue.description})" if clue.description else clue.clue
