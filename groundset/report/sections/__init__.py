"""The parts of a report, in their order: each a module with a function ``section``, named here once."""

from collections.abc import Callable

from groundset.report.blocks import PageSection
from groundset.report.facts import RunFacts
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

SECTIONS: tuple[Callable[[RunFacts], PageSection], ...] = tuple(
    module.section
    for module in (made, quality, yields, refused, coverage, questions, diversity, retrieval, power, cost)
)
