"""The plain-text adapter: renders signatures as short chats whose completions always parse."""

import re
import typing
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

import dspy
from dspy.lm15 import Config, Message, Request
from dspy.signatures import Signature
from pydantic import BaseModel

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028\u2029\ufeff\ufffd]")
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
_QUOTES = "\"'“”„«»‘’`*"
_MAX_TOKENS = 256
_CONFIG_KEYS = frozenset(
    (
        "max_tokens",
        "stop",
        "temperature",
        "top_p",
        "top_k",
        "seed",
        "presence_penalty",
        "frequency_penalty",
        "logprobs",
    )
)


class PlainTextAdapter(dspy.Adapter):
    """Render a signature as a short system text, few-shot turns and one raw completion.

    A single output field is the whole completion, several are labelled lines, and a list of records is blocks of
    labelled lines. The static text (instructions and demos) comes first, so that servers can cache the prefix. Parsing
    never fails: a completion without a usable value gives an empty one of the field's type, which the steps reject.
    Token limits and stop sequences are set in the predictor: ``dspy.Predict(X, max_tokens=40, stop=["\\n"])``.
    """

    def format_field_label(self, name: str, field: Any) -> str:
        """Return the label of a field in prompts: its name in words, without the colon."""
        del field
        return name.replace("_", " ").capitalize()

    def format_inputs(self, signature: type[Signature], values: Mapping[str, Any]) -> str:
        """Return the input fields with a value as labelled lines."""
        lines = []
        for name, field in signature.input_fields.items():
            value = values.get(name)
            text = "; ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value or "")
            text = _CONTROL.sub(" ", text).strip()
            if text:
                lines.append(f"{self.format_field_label(name, field)}: {text}")
        return "\n".join(lines)

    def format_outputs(self, signature: type[Signature], values: Mapping[str, Any]) -> str:
        """Return the output fields as the completion of a demo."""

        def shown(value: Any) -> str:
            if isinstance(value, (list, tuple)):
                if any(isinstance(item, (BaseModel, Mapping)) for item in value):
                    return "\n\n".join(self._block(dict(item)) for item in value)
                return "; ".join(map(str, value))
            if isinstance(value, bool):
                return "yes" if value else "no"
            return str(value)

        names = list(signature.output_fields)
        if len(names) == 1:
            return shown(values.get(names[0], ""))
        return "\n".join(
            f"{self.format_field_label(name, signature.output_fields[name])}: {shown(values.get(name, ''))}"
            for name in names
        )

    def _block(self, record: Mapping[str, Any]) -> str:
        return "\n".join(f"{self.format_field_label(name, None)}: {value}" for name, value in record.items())

    def format(
        self, signature: type[Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the chat: system text, a user and an assistant turn per demo, and the user's turn."""
        messages = [{"role": "system", "content": " ".join(signature.instructions.split())}]
        for demo in demos:
            messages.append({"role": "user", "content": self.format_inputs(signature, demo)})
            messages.append({"role": "assistant", "content": self.format_outputs(signature, demo)})
        messages.append({"role": "user", "content": self.format_inputs(signature, inputs) or "-"})
        return messages

    def request(
        self,
        lm: Any,
        lm_kwargs: Mapping[str, Any],
        signature: type[Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> Request:
        """Return the request of a predictor's call."""
        options = {key: value for key, value in {**lm.kwargs, **lm_kwargs}.items() if value is not None}
        options.setdefault("max_tokens", _MAX_TOKENS)
        extensions = {"adapter": options["adapter"]} if "adapter" in options else None
        config = Config(**{key: options[key] for key in _CONFIG_KEYS & options.keys()}, extensions=extensions)
        chat = self.format(signature, [dict(demo) for demo in demos], inputs)
        turns = tuple(
            (Message.user if message["role"] == "user" else Message.assistant)(message["content"] or " ")
            for message in chat[1:]
        )
        return Request(model=lm.model, messages=turns, system=chat[0]["content"] or None, config=config)

    def __call__(
        self,
        lm: Any,
        lm_kwargs: dict[str, Any],
        signature: type[Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Call the model and parse the completions; ``n`` in the settings is their number."""
        requests = self._requests(lm, lm_kwargs, signature, demos, inputs)
        return [self.parse(signature, lm(request).message.text or "") for request in requests]

    async def acall(
        self,
        lm: Any,
        lm_kwargs: dict[str, Any],
        signature: type[Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Call the model asynchronously and parse the completions."""
        requests = self._requests(lm, lm_kwargs, signature, demos, inputs)
        return [self.parse(signature, (await lm.acall(request)).message.text or "") for request in requests]

    def _requests(
        self,
        lm: Any,
        lm_kwargs: dict[str, Any],
        signature: type[Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[Request]:
        """Return ``n`` requests that differ only in the seed."""
        options = {key: value for key, value in lm_kwargs.items() if key != "n"}
        request, count = self.request(lm, options, signature, demos, inputs), int(lm_kwargs.get("n") or 1)
        if count == 1:
            return [request]
        first = request.config.seed or 0
        return [replace(request, config=replace(request.config, seed=first + i)) for i in range(count)]

    def parse(self, signature: type[Signature], completion: str) -> dict[str, Any]:
        """Return a value for every output field, for any completion."""
        text = _CONTROL.sub(" ", completion.replace("\r\n", "\n")).strip()
        names = list(signature.output_fields)
        if len(names) == 1 and (record := _record_of(signature.output_fields[names[0]].annotation)):
            return {names[0]: self._records(record, text)}
        pieces = {names[0]: self._without_label(names[0], text)} if len(names) == 1 else self._labelled(names, text)
        return {name: _coerce(pieces.get(name, ""), signature.output_fields[name].annotation) for name in names}

    def _without_label(self, name: str, text: str) -> str:
        label = self.format_field_label(name, None)
        return re.sub(rf"^\W*{re.escape(label)}\s*:\s*", "", text, count=1, flags=re.IGNORECASE)

    def _records(self, record: type[BaseModel], text: str) -> list[BaseModel]:
        """Return the records in a completion; a repeated label starts the next one."""
        records: list[dict[str, str]] = []
        for name, value in self._split(record.model_fields, text)[1]:
            if not records or name in records[-1]:
                records.append({})
            records[-1][name] = _unquoted(value)
        return [record(**fields) for fields in records]

    def _labelled(self, names: list[str], text: str) -> dict[str, str]:
        """Return the text of every field; the first label may be missing."""
        head, values = self._split(names, text)
        pieces = {names[0]: head.strip().split("\n\n")[0]} if head else {}
        for name, value in values:
            pieces.setdefault(name, value)
        return pieces

    def _split(self, names: Iterable[str], text: str) -> tuple[str, list[tuple[str, str]]]:
        """Return the text before the first label, and the labelled fields with their text, in order."""
        labels = {self.format_field_label(name, None).casefold(): name for name in names}
        # Models put numbers and marks before labels at the start of lines.
        pattern = r"^\W*(?:\d+\W+)?(" + "|".join(map(re.escape, labels)) + r")[ \t]*\d*\**[ \t]*:\**[ \t]*"
        found = list(re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE))
        starts = [match.start() for match in found] + [len(text)]
        values = [
            (labels[match[1].casefold()], text[match.end() : end].strip())
            for match, end in zip(found, starts[1:], strict=True)
        ]
        return text[: starts[0]], values


def _record_of(annotation: Any) -> type[BaseModel] | None:
    """Return the model of a list of records, None for any other type."""
    if get_origin(annotation) is list:
        (item,) = get_args(annotation)
        if isinstance(item, type) and issubclass(item, BaseModel):
            return item
    return None


def _coerce(text: str, annotation: Any) -> Any:
    if get_origin(annotation) is typing.Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is list:
        return _items(text)
    if annotation is bool:
        return text.strip(_QUOTES + " ").casefold().startswith(("yes", "true"))
    if get_origin(annotation) is Literal:
        options = get_args(annotation)
        folded = text.strip(_QUOTES + " .").casefold()
        return next((o for o in options if folded.startswith(str(o).casefold())), options[0])
    if annotation in (int, float):
        number = re.search(r"-?\d+(?:\.\d+)?", text)
        return annotation(float(number.group())) if number else annotation(0)
    return _unquoted(text)


def _items(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    parts = lines if len(lines) > 1 else re.split(r"[;,]", text)
    if len(lines) == 1 and ";" in text:
        parts = text.split(";")
    items: list[str] = []
    for part in parts:
        item = _unquoted(_BULLET.sub("", part)).rstrip(" .;,")
        if item and item.casefold() not in {seen.casefold() for seen in items}:
            items.append(item)
    return items


def _unquoted(text: str) -> str:
    text = text.strip()
    while len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES:
        text = text[1:-1].strip()
    return text
