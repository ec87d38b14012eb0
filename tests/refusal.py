"""What users are told where something is refused."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from groundset.programs.errors import InputError


@contextmanager
def refuses(
    message: str, error: type[Exception] = InputError
) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error with a message, which is one line."""
    with pytest.raises(error, match=message) as caught:
        yield caught
    assert "\n" not in str(caught.value)
