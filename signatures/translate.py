"""Step ``translate``: the lines of a prompt in another language."""

import dspy


class TranslateText(dspy.Signature):
    """Translate the text line by line, into as many lines as it has, and write nothing else.

    Translate what each line says in natural words and add nothing. Keep names of people, places and products,
    all numbers, and words in double quotes as they are.
    """

    into: str = dspy.InputField(desc="the language to translate into")
    text: str = dspy.InputField(desc="one or several lines")
    translation: str = dspy.OutputField(desc="the same lines in that language")
