"""Stage ``translate``: translates lines of a prompt, and checks each translation by translating it back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dspy

from programs.languages.names import name_of
from programs.steps.base import Similarity
from programs.steps.translate import lines_of, lost_name, translation_problem
from programs.tools import Tools

ENGLISH = "en"
_TRIES: tuple[Mapping[str, Any], ...] = ({}, {"temperature": 0.7, "seed": 1})
_MIN_SIMILARITY = 0.75  # of a text and its back-translation


class Translation(NamedTuple):
    """Translated lines, or the problem of the last try."""

    lines: list[str] | None
    problem: str = ""


class Translate(dspy.Module):
    """Translate English lines; a translation that fails its checks is tried once more."""

    def __init__(self, tools: Tools, similarity: Similarity) -> None:
        super().__init__()
        self.tools = tools
        self.similarity = similarity
        self.translate = tools.predictor("translate")

    def forward(self, lines: Sequence[str], language: str) -> Translation:
        """Return the lines in a language, given by its code."""
        problem = ""
        for sampling in _TRIES:
            written = self._write(lines, language, sampling)
            problem = translation_problem(lines, written, language) or self._back_problem(lines, written, sampling)
            if not problem:
                return Translation(written)
        return Translation(None, problem)

    def _write(self, lines: Sequence[str], language: str, sampling: Mapping[str, Any]) -> list[str]:
        inputs = {"into": name_of(language), "text": "\n".join(lines)}
        return lines_of(self.tools.write("translate", self.translate, language, sampling, **inputs).translation)

    def _back_problem(self, lines: Sequence[str], written: Sequence[str], sampling: Mapping[str, Any]) -> str:
        """Return what the back-translation of written lines shows to be wrong; empty if it is nothing."""
        back = self._write(written, ENGLISH, sampling)
        if len(back) != len(lines):
            return f"translated back, {len(back)} lines instead of {len(lines)}"
        for line, again in zip(lines, back, strict=True):
            if name := lost_name(line, again):
                return f"translated back, it lost the name {name}: {again:.80}"
        similarity = self.similarity("\n".join(lines), "\n".join(back))
        if similarity < _MIN_SIMILARITY:
            return f"translated back, it says something else (similarity {similarity:.2f}): {' '.join(back):.80}"
        return ""
