"""The sections of a report by name, in their order: one module each, found in this folder."""

from collections.abc import Mapping

from groundset.report.analysis import ReportSection
from programs.discover import discover

SECTIONS: Mapping[str, ReportSection] = discover("groundset.report.sections", "SECTION", ReportSection)
