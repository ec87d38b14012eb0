"""The parts of a report, in their order: each a module with a function ``section``, named here once."""

from collections.abc import Callable

from groundset.report.analysis import RunAnalysis
from groundset.report.page import PageSection
from groundset.report.sections import (
    cost,
    coverage,
    diversity,
    made,
    power,
    quality,
    questions,
    refused,
    retrieval,
    yields,
)

SECTIONS: tuple[Callable[[RunAnalysis], PageSection], ...] = tuple(
    module.section
    for module in (made, quality, yields, refused, coverage, questions, diversity, retrieval, power, cost)
)
