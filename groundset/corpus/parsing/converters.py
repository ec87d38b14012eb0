"""The converters of markitdown, without the library by which its front door guesses formats.

That library, magika, loads onnxruntime, which takes as long to import as the converters and sends usage reports to its
maker. Nothing here guesses a format: a converter is chosen by the ending of a file.
"""

import sys
from types import ModuleType
from typing import Any


def markitdown_converters() -> Any:
    """Return the module of markitdown's converters; importing it takes a second, so call this where one is needed."""
    sys.modules.setdefault("magika", ModuleType("magika"))
    from markitdown import converters

    return converters
