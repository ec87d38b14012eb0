"""Stage ``translate``: translates lines of a prompt, and checks each translation by translating it back."""

from collections.abc import Sequence
from typing import NamedTuple

import dspy

from programs.languages.names import name_of
from programs.steps.base import Similarity
from programs.steps.translate import lines_of, lost_name, translation_problem
from programs.tools import Tools

ENGLISH = "en"
_SAMPLING = {"temperature": 0.7, "seed": 1}
# Of a text and its back-translation. Of 150 rewordings of gold questions, 144 are as similar to their question; of 150
# questions that differ from a gold question in a word or two, 68 are.
_MIN_SIMILARITY = 0.85


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
        for again in (False, True):
            written = self._write(lines, language, again)
            problem = translation_problem(lines, written, language) or self._back_problem(
                lines, written, language, again
            )
            if not problem:
                return Translation(written)
        return Translation(None, problem)

    def _write(self, lines: Sequence[str], language: str, again: bool) -> list[str]:
        """Translate lines; ``again`` takes each alone, because small models join lines, and samples a single one."""
        sampling = _SAMPLING if again and len(lines) == 1 else {}
        texts = lines if again else ["\n".join(lines)]
        into = name_of(language)
        written = [
            self.tools.write("translate", self.translate, language, sampling, into=into, text=text).translation
            for text in texts
        ]
        return lines_of("\n".join(written))

    def _back_problem(self, lines: Sequence[str], written: Sequence[str], language: str, again: bool) -> str:
        """Return the problem that a back-translation of the written lines shows; empty if there is none."""
        back = self._write(written, ENGLISH, again)
        if problem := translation_problem(lines, back, ENGLISH, language):
            return f"translated back, {problem}"
        for line, new in zip(lines, back, strict=True):
            if name := lost_name(line, new):
                return f"translated back, it lost the name {name}: {new:.80}"
            if name := lost_name(new, line):
                return f"translated back, it has another name, {name}: {new:.80}"
        similarity = self.similarity("\n".join(lines), "\n".join(back))
        if similarity < _MIN_SIMILARITY:
            return f"translated back, it says something else (similarity {similarity:.2f}): {' '.join(back):.80}"
        return ""
