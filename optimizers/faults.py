"""Which labels say what of the outputs of the steps that decide."""

from programs.deciding import OVERALL

# For each output, the reasons that make it false; a row with another bad reason says nothing about it.
FAULTS: dict[str, dict[str, tuple[str, ...]]] = {
    "chunk": {
        "content": ("citation", "metadata", "boilerplate", "too_thin"),
        "self_contained": ("not_self_contained",),
    },
    "judge": {
        "independent": ("context_reference", "vague"),
        "clear": ("malformed", "conjoined"),
        "answerable": ("unanswerable", "wrong_premise"),
    },
}


def outputs_of(step: str) -> tuple[str, ...]:
    """Return the outputs of a step that are fitted."""
    return (OVERALL, *FAULTS[step])
