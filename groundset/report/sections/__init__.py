"""The report sections by name, in order: one module each, discovered in this folder."""

from collections.abc import Mapping

from groundset.report.analysis import ReportSection
from programs.discover import discover

SECTIONS: Mapping[str, ReportSection] = discover("groundset.report.sections", "SECTION", ReportSection)
