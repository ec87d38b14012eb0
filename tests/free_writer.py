"""A language model of mode ``free`` that is scripted, and documents that it can read."""

import re
from pathlib import Path
from typing import Any

from dspy.lm15 import Message, Request, Response, Usage

PLACES = ("Henn", "Orsle", "Ansa", "Tarn", "Lowen", "Ostry", "Veld", "Moss")
THINGS = ("mill", "bridge", "ferry", "school", "chapel", "market")


class Writer:
    """Does in the simplest words what prompts of mode ``free`` ask for.

    It asks for the year of a sentence, joins sentences of several passages, answers from the passage that it is shown
    and finds everything good.
    """

    def __init__(self, deaf_to: str = "") -> None:
        self.deaf_to = deaf_to
        self.known: dict[str, tuple[str, list[str]]] = {}
        self.asked: list[str] = []

    def complete(self, request: Request) -> Response:
        system = str(request.system)
        shown = str(request.messages[-1].parts[0].text)
        self.asked.append(system.split(".")[0])
        usage = Usage(input_tokens=100, output_tokens=20, total_tokens=120, cache_read_tokens=40)
        said = self.answer(system, shown)
        return Response(
            id=None, model=request.model, message=Message.assistant(said), finish_reason="stop", usage=usage
        )

    def answer(self, system: str, shown: str) -> str:
        """Return what it writes for a system text and the last turn of a user."""
        if self.deaf_to and self.deaf_to in system:
            return "I cannot do that."
        facts = re.findall(r"The (\w+) of (\w+) was built in (\d+)\.", shown)
        if system.startswith("Write questions that need all"):
            first, second = facts[0], next(fact for fact in facts if fact[1] != facts[0][1])
            years = abs(int(first[2]) - int(second[2]))
            question = f"How many years lie between the {first[0]} of {first[1]} and the {second[0]} of {second[1]}?"
            return self._written("Kind: general\n", question, f"{years} years", [_sentence(first), _sentence(second)])
        if system.startswith("Write questions"):
            return "\n\n".join(self._about("Kind: fact\n", fact) for fact in facts[:2])
        if system.startswith("Write clues"):
            return "\n\n".join(
                f"Clue: In what year was the {thing} of {place} built?\nExample: The {thing} of {place} is very old."
                for thing, place, _ in facts[:3]
            )
        if system.startswith("Choose the passages"):
            thing, place = re.findall(r"the (\w+) of (\w+) built", shown)[0]
            numbers = [
                str(number)
                for number, passage in enumerate(re.split(r"(?m)^(?:Passages: )?\[\d+\] ", shown)[1:], 1)
                if f"The {thing} of {place} was built" in passage
            ]
            return f"Needed: {', '.join(numbers)}\nMissing: nothing"
        if system.startswith("Suggest profiles"):
            values = re.findall(r"(?m)^(?:Dimensions: )?(\w+): .*\n- ([^:]+):.*\n- ([^:]+):", shown)
            return "\n".join(" | ".join(f"{row[0]}: {row[place]}" for row in values) for place in (1, 2))
        if system.startswith("Write a question that fits"):
            asked = re.findall(r"the (\w+) of (\w+) built\?", shown.rsplit("\nAsked already: ", 1)[-1])
            fact = next(fact for fact in facts if fact[:2] not in asked[1:])
            return self._about("", fact).replace("\nAnswer", "\nOptions: none\nAnswer")
        if system.startswith("Change the question"):
            old = shown.rsplit("\nQuestion: ", 1)[1].split("\n", 1)[0]
            fact = next(fact for fact in facts if f"the {fact[0]} of" not in old)
            return self._about("New ", fact, how="Since when has")
        if system.startswith("Answer the question"):
            passage, question = shown.rsplit("\nQuestion: ", 1)
            answer, rests_on = self.known[question.strip()]
            return answer if all(piece in passage for piece in rests_on) else "not stated"
        if system.startswith("Write the answer"):
            return "It was {}.".format(shown.rsplit("\nAnswer: ", 1)[1].split("\n", 1)[0])
        criteria = re.findall(r"^([A-Z][a-z ]+): <reason[^>]*> - <([^>]+)>", system, re.MULTILINE)
        assert criteria, system
        good = {"Same": "no"}
        return "\n".join(f"{name}: it is so - {good.get(name) or scale.split(' or ')[-1].replace('no', 'yes')}, 95"
                         for name, scale in criteria)  # fmt: skip

    def _about(self, label: str, fact: Any, how: str = "In what year was") -> str:
        question = f"{how} the {fact[0]} of {fact[1]} {'built' if how.endswith('was') else 'stood'}?"
        return self._written(label, question, fact[2], [_sentence(fact)])

    def _written(self, label: str, question: str, answer: str, rests_on: list[str]) -> str:
        self.known[question] = (answer, rests_on)
        fields = ("question", "answer") if label == "New " else ("Question", "Answer")
        return f"{label}{fields[0]}: {question}\n{label * (label == 'New ')}{fields[1]}: {answer}\nEvidence: " + (
            " | ".join(rests_on)
        )


def _sentence(fact: Any) -> str:
    return "The {} of {} was built in {}.".format(*fact)


def write_documents(folder: Path) -> Path:
    """Write a document on each place, with a sentence for each thing there."""
    folder.mkdir(parents=True)
    for number, place in enumerate(PLACES):
        facts = [f"The {thing} of {place} was built in {1700 + 20 * number + at}." for at, thing in enumerate(THINGS)]
        text = " ".join(facts) + f" Visitors of {place} come by the road from Lowen."
        (folder / f"{place}.md").write_text(f"# {place}\n\n{text}\n", "utf-8")
    return folder
