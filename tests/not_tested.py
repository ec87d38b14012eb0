"""A plugin that ends a test run with the tests skipped on this machine, and the packages that they need."""

from collections import Counter
from typing import Any

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the reasons of skipped tests, the most frequent first, with how many tests each skipped."""
    reasons = Counter(_reason(report.longrepr) for report in terminalreporter.stats.get("skipped", ()))
    if reasons:
        terminalreporter.section("not tested on this machine")
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count} test{'s' if count > 1 else ''}: {reason}")


def _reason(longrepr: Any) -> str:
    """Return why a test was skipped; pytest keeps file, line and reason."""
    return str(longrepr[-1] if isinstance(longrepr, tuple) else longrepr).removeprefix("Skipped: ")
