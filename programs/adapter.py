"""The plain-text adapter of the steps: small models break JSON, but write labelled lines."""

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, get_origin

import dspy
from dspy.lm15 import Config, Message, Request, Response
from dspy.signatures import Signature
from dspy.utils.exceptions import AdapterParseError

from groundset.programs.text import composed

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028\u2029\ufeff\ufffd]")
# The beginning of a line to a colon, or to what looks like one; marks, numbers and further colons
# may stand before.
_TO_COLON = re.compile(
    r"^(?:[^\w\n]|\d){0,20}[^\n:∶：꞉ː﹕։׃܃᛬⁝︓]{1,60}[:∶：꞉ː﹕։׃܃᛬⁝︓]", re.MULTILINE
)
_LOOKALIKES = str.maketrans("авеһнікмопрстухѕјԁαβεηικνορτυχ", "abehhikmonpctyxsjdabehiknoptux")
# The last two are letters of Hangul that cannot be seen.
_NO_LETTER = re.compile("[\\W\\d_ː\u115f\u1160]")
_BULLET = re.compile(r"(?P<mark>[-*•–]|\(?\d{1,2}[.)])\s+(?=\S)")
_BARE_BULLET = re.compile(r"[-*•–]\s+\D")
_BAR = re.compile(r"\s+\|\s+")
# What stands around a whole text; where it stands within, too, the first and the last are no pair.
_AROUND = (
    r"[\"“”„«»](?P<inside>[^\"“”„«»]+)[\"“”„«»]",
    r"['‘’‚](?P<inside>(?:[^'‘’‚]|(?<=\w)['’](?=\w))+)['‘’]",
    r"(?P<marks>[*`]+)(?P<inside>[^*`]+)(?P=marks)",
)
_NOTHING = frozenset({"", "none", "nothing", "n/a", "-"})
_YES_OR_NO = re.compile(r"\W*(yes|no|true|false)\b", re.IGNORECASE)
_SEPARATOR = " | "
# What chat models put around what they were asked for: a greeting before, an offer after, a fence
# around all.
_GREETS = (
    "sure|certainly|of course|absolutely|ok(?:ay)?|great question|klar|gerne?|natürlich|bien sûr|"
    "claro|por supuesto"
)
_ANNOUNCES = (
    r"(?:here|below|this) (?:is|are)|here(?:'s| you)|hier (?:ist|sind)|voici|aquí (?:está|tienes?)"
)
_TOLD = "asked for|question|answer|version|wording|frage|antwort|fassung|réponse|pregunta|respuesta"
_GREETING = re.compile(
    rf"\A\W*(?:(?:{_GREETS})"
    r"(?:[!.]\**\s|,[^\n:?]{0,120}[:\n]|[^\S\n][^\n:?]{0,120}:\s*\n|\**\n)\s*(?=\S)|"
    rf"(?:{_ANNOUNCES})\b[^\n:?]{{0,120}}?(?:(?:{_TOLD})\s*:\**\s|:\**\s*\n)\s*(?=\S))+",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"(?is)\n\s*(?:please )?(?:let me know|(?:i )?hope (?:this|that|it)|feel free)\b.*\Z"
)
_FENCE = re.compile(r"\A\s*```\w*\n(.*?)\n?```\s*\Z", re.DOTALL)
_REQUEST_KEYS = frozenset(
    {"max_tokens", "stop", "temperature", "top_p", "top_k", "seed", "logprobs"}
)
_MAX_TOKENS = 256


class PlainTextAdapter(dspy.ChatAdapter):
    """Render a signature as a short system text, few-shot turns and one completion of labelled
    lines.

    A single output is the whole completion, several outputs are labelled lines; an output is a
    text, a list of texts, yes or no, or a whole number. The static text (instructions, the form of
    the outputs, demos) comes first, so that servers can cache the prefix. Texts are read from any
    completion, at worst as empty; a number or a yes or no that cannot be read raises
    ``AdapterParseError``. The LM option ``adapter`` names trained weights of the embedded engine;
    with ``logprobs`` beside it, ``shares`` is how likely each output that is yes or no is yes, and
    ``probability`` how likely all are.

    It is a ``ChatAdapter`` to DSPy, so that ``BootstrapFinetune(adapter=…)`` writes its chats.
    """

    def __init__(self) -> None:
        """Build the adapter, which never asks again in JSON."""
        super().__init__(use_json_adapter_fallback=False)

    def format(
        self, signature: type[Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the chat: system text, a user and an assistant turn for each demo that has an
        output, and the user's turn.
        """
        messages = [{"role": "system", "content": self._system(signature)}]
        for demo in with_outputs(signature, demos):
            messages.append({"role": "user", "content": self.shown(signature, demo)})
            shown = self.format_assistant_message_content(signature, demo)
            messages.append({"role": "assistant", "content": shown})
        messages.append({"role": "user", "content": self.shown(signature, inputs) or "-"})
        return messages

    def __call__(
        self,
        lm: Any,
        lm_kwargs: dict[str, Any],
        signature: type[Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Call the model and parse the completions: one from trained weights, else ``n``."""
        if "adapter" not in lm_kwargs:
            limited = {"max_tokens": _MAX_TOKENS, **lm_kwargs}
            return list(super().__call__(lm, limited, signature, demos, inputs))
        options = {"max_tokens": _MAX_TOKENS}
        options |= {
            key: value for key, value in {**lm.kwargs, **lm_kwargs}.items() if value is not None
        }
        system, *turns = self.format(signature, demos, inputs)
        roles = {"user": Message.user, "assistant": Message.assistant}
        messages = [roles[turn["role"]](turn["content"]) for turn in turns]
        return [self._read(signature, respond(lm, system["content"], messages, options))]

    def _read(self, signature: type[Signature], response: Response) -> dict[str, Any]:
        """Return the outputs in a response, and the probability of yes from log-probabilities."""
        outputs = self.parse(signature, response.message.text or "")
        decisions = [
            name for name, field in signature.output_fields.items() if field.annotation is bool
        ]
        if response.logprobs and decisions:
            shares = {name: share_of_yes(response, _label(name)) for name in decisions}
            outputs |= {"shares": shares, "probability": math.prod(shares.values())}
        return outputs

    def parse(self, signature: type[Signature], completion: str) -> dict[str, Any]:
        """Return a value for every output.

        Raises:
            AdapterParseError: a number, or a yes or no, cannot be read.
        """
        text = _CONTROL.sub(" ", composed(completion).replace("\r\n", "\n"))
        text = _from_json(_FENCE.sub(r"\1", _OFFER.sub("", _GREETING.sub("", text))).strip())
        fields = signature.output_fields
        if len(fields) == 1:
            (name,) = fields
            label = re.compile(rf"^\W*{_label(name)}\s*:\**\s*", re.IGNORECASE)
            pieces = {name: label.sub("", text, count=1)}
        else:
            pieces = self._labelled(list(fields), text)
        try:
            return {
                name: _value(pieces.get(name, ""), field.annotation)
                for name, field in fields.items()
            }
        except ValueError as error:
            raise AdapterParseError(
                "PlainTextAdapter", signature, completion, str(error)
            ) from error

    def _system(self, signature: type[Signature]) -> str:
        """Return the instructions as they are, and the form of the outputs unless the completion is
        one text.
        """
        fields = signature.output_fields
        instructions = str(signature.instructions).strip()
        if len(fields) == 1:
            (field,) = fields.values()
            if field.annotation is str:
                return instructions
            return f"{instructions}\n\nWrite {_form(field)}, and nothing else."
        lines = [f"{_label(name)}: <{_form(field)}>" for name, field in fields.items()]
        return "\n".join([instructions, "", "Write these lines, and nothing else:", *lines])

    def shown(self, signature: type[Signature], values: Mapping[str, Any]) -> str:
        """Return the inputs that have a value as labelled lines; a list of several texts is a line
        for each.

        Lines of a text that begin like a label of the prompt lose their colon, so that no document
        writes a verdict.
        """
        lines, labels = [], {_folded(name) for name in signature.fields}
        for name in signature.input_fields:
            value = values.get(name)
            if isinstance(value, list | tuple) and len(value) > 1:
                text = "".join(f"\n- {_clean(item)}" for item in value)
            elif isinstance(value, list | tuple):
                text = _clean(value[0]) if value else ""
            else:
                text = "" if value is None else _clean(value)
            if text := _without_labels(text, labels):
                lines.append(f"{_label(name)}:{'' if text.startswith(chr(10)) else ' '}{text}")
        return "\n".join(lines)

    def format_assistant_message_content(
        self,
        signature: type[Signature],
        outputs: Mapping[str, Any],
        missing_field_message: str | None = None,  # noqa: ARG002 - DSPy's name
    ) -> str:
        """Return the outputs of a demo as a completion; those that are missing have no line."""
        names = [name for name in signature.output_fields if name in outputs]
        if len(signature.output_fields) == 1:
            return _shown(outputs[names[0]]) if names else ""
        return "\n".join(f"{_label(name)}: {_shown(outputs[name])}" for name in names)

    def _labelled(self, names: list[str], text: str) -> dict[str, str]:
        """Return the text of every output; the first label may be missing, a preamble before it is
        dropped.
        """
        labels = {_label(name).casefold(): name for name in names}
        # Models put numbers and marks before labels at the start of lines.
        any_label = "|".join(map(re.escape, labels))
        pattern = rf"^\W*(?:\d+\W+)?({any_label})[ \t]*\d*\**[ \t]*:\**[ \t]*"
        matches = list(re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE))
        starts = [match.start() for match in matches] + [len(text)]
        pieces: dict[str, str] = {}
        for match, end in zip(matches, starts[1:], strict=True):
            pieces.setdefault(labels[match[1].casefold()], text[match.end() : end].strip())
        if head := text[: starts[0]].strip():
            pieces.setdefault(names[0], head.split("\n\n")[-1 if matches else 0])
        return pieces


PLAIN_TEXT = PlainTextAdapter()


def with_outputs(signature: type[Signature], demos: Iterable[Any]) -> list[Any]:
    """Return the demos that show an output of their step.

    Some optimizers give every predictor the rows of the whole program, which show none.
    """
    return [demo for demo in demos if any(name in demo for name in signature.output_fields)]


def respond(
    lm: Any, system: str, messages: Sequence[Message], options: Mapping[str, Any]
) -> Response:
    """Return what a model with the trained weights in the options writes.

    DSPy has no option for them; a request of the engine's own has.
    """
    config = Config(
        **{key: options[key] for key in _REQUEST_KEYS & options.keys()},
        extensions={"adapter": options["adapter"]},
    )
    request = Request(
        model=lm.model, messages=tuple(messages), system=system or None, config=config
    )
    response: Response = lm(request)
    return response


def share_of_yes(response: Response, label: str = "") -> float:
    """Return the probability of "yes" against "no" as the first token, or as the one that follows a
    label.

    A half if the response has no such token.
    """
    text, masses = "", {"yes": 0.0, "no": 0.0}
    pattern = rf"^{re.escape(label)}: *\Z" if label else r"\A\Z"
    before = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for token in response.logprobs or ():
        if token.token.strip() and before.search(text):
            for top in token.top:
                word = top.token.strip().casefold()
                for answer in masses:
                    if word == answer or (len(word) > 1 and answer.startswith(word)):
                        masses[answer] += math.exp(top.logprob)
            break
        text += token.token
    total = sum(masses.values())
    return masses["yes"] / total if total else 0.5


def _from_json(text: str) -> str:
    """Return a JSON object as labelled lines; any other text as it is."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(loaded, dict):
        return text
    return "\n".join(f"{_label(key)}: {_shown(value)}" for key, value in loaded.items())


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _folded(text: str) -> str:
    """Return the letters of a text as they look: without marks, numbers, what cannot be seen, and
    other scripts.
    """
    return _NO_LETTER.sub("", unicodedata.normalize("NFKD", text).casefold().translate(_LOOKALIKES))


def _without_labels(text: str, labels: Set[str]) -> str:
    """Return a text with the first colon of lines that begin with a label, however it is spelt,
    replaced.
    """

    def replaced(match: re.Match[str]) -> str:
        return f"{match[0][:-1]} -" if _folded(match[0]) in labels else match[0]

    return _TO_COLON.sub(replaced, text)


def _clean(value: Any) -> str:
    return _CONTROL.sub(" ", str(value)).strip()


def _form(field: Any) -> str:
    """Return how an output is written."""
    described = str(field.json_schema_extra["desc"])
    if get_origin(field.annotation) is list:
        return f'{described}; " | " between several'
    form = {bool: "yes or no: ", int: "a number: "}.get(field.annotation, "")
    return f"{form}{described}"


def _shown(value: Any) -> str:
    """Return the value of an output as a demo shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return _SEPARATOR.join(map(str, value)) or "none"
    return str(value)


def _value(text: str, annotation: Any) -> Any:
    """Return the value of an output.

    Raises:
        ValueError: it cannot be read.
    """
    if annotation is bool:
        if (found := _YES_OR_NO.match(text)) is None:
            raise ValueError(f"neither yes nor no: {text!r:.60}")
        return found[1].casefold() in ("yes", "true")
    if annotation is int:
        if (found := re.search(r"-?\d+", text)) is None:
            raise ValueError(f"no number: {text!r:.60}")
        return int(found[0])
    return _items(text) if get_origin(annotation) is list else _unquoted(text)


def _items(text: str) -> list[str]:
    """Return the distinct items of a list, one in each line or with bars between, which stand
    between spaces; a row of a table is one item.
    """
    lines = _without_bullets([line.strip() for line in text.splitlines() if line.strip()])
    items: dict[str, str] = {}
    for line in lines:
        for part in [line] if line.startswith("|") else _BAR.split(line):
            item = _unquoted(part)
            if item.casefold().rstrip(".") not in _NOTHING:
                items.setdefault(item.casefold(), item)
    return list(items.values())


def _without_bullets(lines: list[str]) -> list[str]:
    """Return lines without what makes them a list; "- 5 °C" and "3. May" are text, unless all lines
    begin alike or count from 1.
    """
    found = [_BULLET.match(line) for line in lines]
    marks = [match["mark"].strip("().") if match else "" for match in found]
    counted = [str(number) for number in range(1, len(lines) + 1)]
    is_list = len(lines) > 1 and (len(set(marks)) == 1 or marks == counted)
    return [
        line[match.end() :] if match and (is_list or _BARE_BULLET.match(line)) else line
        for line, match in zip(lines, found, strict=True)
    ]


def _unquoted(text: str) -> str:
    """Return a text without the quotation marks, stars or ticks around all of it."""
    text = text.strip()
    for marks in _AROUND:
        if match := re.fullmatch(marks, text, re.DOTALL):
            return _unquoted(match["inside"])
    return text
