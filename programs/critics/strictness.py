"""What careless readers miss, by step and output: the critic ``verdict`` is shown it beside what a signature asks.

It stands here and not in the signatures, because compiled states hold for the exact words of a signature.
"""

from collections.abc import Mapping

STRICT: Mapping[str, Mapping[str, str]] = {
    "judge": {
        "independent": "Read the question alone first, as somebody who will never see the passage. It is no if a name "
        "in it says nothing until the passage explains who or what that is, or if it says 'the author', 'the study' or "
        "'this method' without saying which.",
        "clear": "It is no if two things are asked at once, if several different answers would be right, or if the "
        "question already holds its own answer.",
        "answerable": "Find the words of the passage that answer it. It is no if there are none: a passage often "
        "speaks of the matter and does not say just this. It is no if a name, number, date or cause in the question "
        "is another one in the passage.",
        "fit": "One no above is enough for no.",
    },
    "grounding": {
        "grounded": "Check each name, number and date of the answer against the passage; a figure that follows by "
        "counting from its figures is stated. It is no if one is missing there or differs, if the passage speaks of "
        "the matter and does not say just this, if a part of what is asked stays without an answer, or if the answer "
        "belongs to a neighbouring question.",
    },
    "same": {
        "same": "Compare what a full answer to each would have to say. Other words, a longer sentence or a condition "
        "that holds anyway are no difference.",
    },
    "agree": {
        "agree": "Other words for the same thing agree, and so do a full and a short name. Another number, name, "
        "cause or condition does not, nor does an answer that leaves out what was asked for.",
    },
    "chunk": {
        "self_contained": "The topic belongs to the passage: what it names need not be said again, and text that is "
        "cut off at its edges is no fault by itself. It is no if the facts are about an 'it', 'they', 'this' or a bare "
        "name of which neither topic nor passage says what it is.",
        "content": "It is no if most of it is a list of sources, links, headings or figures, however many facts those "
        "hold.",
        "fit": "It is no if you cannot name one fact that a stranger who knows the topic would understand. One no "
        "above is enough for no.",
    },
}
