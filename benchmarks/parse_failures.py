"""Count completions that cannot be parsed, over many calls of every step that writes text.

    python benchmarks/parse_failures.py [DOCS] [--lm NAME] [--calls N]

A failure is an exception, or a value of the wrong type. Empty values, which the steps reject, are counted separately.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import dspy

from groundset import privacy
from groundset.corpus.chunks import draw_order
from groundset.corpus.corpus import build_corpus
from groundset.data_files import data_path
from groundset.runtime.lms import open_lm
from programs.demos import in_language, read_demos
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps import STEPS
from programs.text import plain


def inputs(docs: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the language and the inputs of all steps for each sentence of the chunks."""
    languages = Languages(LANGUAGES)
    for chunk in draw_order(build_corpus(docs).chunks, seed=0):
        passage = plain(chunk.text)
        language = languages.of(passage)
        for sentence in language.sentences(passage):
            words = sentence.split()
            yield (
                language.code,
                {
                    "topic": chunk.topic,
                    "passage": passage,
                    "fact": sentence,
                    "answer": " ".join(words[-2:]),
                    "opening": "",
                    "name": words[0],
                    "question": f"What is {' '.join(words[:3])}?",
                    "condition": "when it rains",
                    "objection": "the question cannot be understood alone",
                    "feedback": "Name the subject.",
                },
            )


def main() -> None:
    """Print one row for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", nargs="*", default=["data/samples"])
    parser.add_argument("--lm", default="smollm2-135m")
    parser.add_argument("--calls", type=int, default=200)
    arguments = parser.parse_args()
    privacy.set_defaults()
    demos = read_demos(data_path("demos"))
    print(f"{'step':12} {'calls':>6} {'failures':>9} {'empty':>6} {'seconds':>8}")
    with open_lm(arguments.lm, workers=1) as model, dspy.context(lm=model.lm, adapter=model.adapter, trace=None):
        for step in (step for step in STEPS.values() if not step.decides):
            predict = step.predictor(demos.get(step.name, ()))
            calls = failures = empty = 0
            started = time.perf_counter()
            for language, values in inputs(arguments.docs):
                if calls == arguments.calls:
                    break
                fields = {name: values[name] for name in predict.signature.input_fields}
                calls += 1
                try:
                    prediction = predict(demos=in_language(predict.demos, language), **fields)
                    value = prediction[next(iter(predict.signature.output_fields))]
                except dspy.utils.exceptions.DSPyError:
                    failures += 1
                    continue
                failures += not isinstance(value, str | list)
                empty += not value
            seconds = time.perf_counter() - started
            print(f"{step.name:12} {calls:>6} {failures:>9} {empty:>6} {seconds:>8.0f}", flush=True)


if __name__ == "__main__":
    main()
