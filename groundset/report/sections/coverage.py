"""Which documents, and which parts of what they are about, the questions cover."""

from collections import Counter

import numpy as np

from groundset.progress import counted
from groundset.report import charts
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.measurements import cut, nearness, plane
from groundset.report.page import UNKNOWN, Chart, Metric, PageSection, PageTable, share_metric

_SHOWN = 100  # documents in the table
_LONGEST = 120


def section(run: RunAnalysis) -> PageSection:
    """Show how questions spread over the documents and over the space of their embeddings."""
    known = {document.doc_id for document in run.documents}
    metrics = [
        share_metric("Documents asked about", len(run.asked_documents & known), len(known), "document"),
        share_metric("Chunks asked about", len(run.asked_chunks), len(run.chunks), "chunk"),
    ]
    notes, drawn = [], []
    asked = sorted(run.places[name] for name in run.asked_chunks if name in run.places)
    if not len(run.chunk_vectors):
        notes.append("There is no map: not all chunks of this run have embeddings.")
    else:
        if found := nearness(run.chunk_vectors, asked):
            metrics.append(Metric(
                "Nearness to what is asked", f"{found.mean:.2f} ({found.chance:.2f} by chance)",
                counted(found.chunks, "chunk"), "", "mean cosine of a chunk with the nearest one that is asked about; "
                "by chance means a random draw of as many chunks",
            ))  # fmt: skip
        if chart := _map(run, asked):
            drawn.append(chart)
        else:
            notes.append("There is no map: it takes three chunks that differ.")
    about = "Where in the documents the questions lie."
    return PageSection("coverage", "What it covers", about, metrics, drawn, [_by_document(run)], notes)


def _by_document(run: RunAnalysis) -> PageTable:
    samples = Counter(doc_id for sample in run.samples for doc_id in {chunk.doc_id for chunk in sample.contexts})
    chunks = Counter(chunk.doc_id for chunk in run.chunks)
    passed = Counter(run.chunks[run.places[name]].doc_id for name in run.passed_over if name in run.places)
    order = sorted(run.documents, key=lambda document: -chunks[document.doc_id])
    rows = [
        (
            cut(document.title or document.path, _LONGEST),
            f"{chunks[document.doc_id]:,}",
            f"{chunks[document.doc_id] - passed[document.doc_id]:,}" if run.knows_usable else UNKNOWN,
            f"{samples[document.doc_id]:,}",
        )
        for document in order[:_SHOWN]
    ]
    more = f", the {_SHOWN} longest of {len(order):,}" if len(order) > _SHOWN else ""
    return PageTable(f"Documents{more}", ("document", "chunks", "usable", "samples"), rows)


def _map(run: RunAnalysis, asked: list[int]) -> Chart | None:
    found = plane(run.chunk_vectors)
    if found is None:
        return None
    places, shown = found
    vain = sorted(run.places[name] for name in run.attempted_chunks - run.asked_chunks if name in run.places)
    others = np.setdiff1d(np.arange(len(run.chunks)), [*asked, *vain]).tolist()
    layers = [("not asked", others), ("attempted in vain", vain), ("asked about", asked)]
    return Chart(
        "Map of the chunks",
        f"Each point is a chunk; near ones are alike. The two directions show {100 * shown:.0f} % of how the "
        "embeddings differ, so what lies together here may still be apart.",
        charts.points("map", [(name, places[rows]) for name, rows in layers]),
        PageTable("", ("chunks", "count"), [(name, f"{len(rows):,}") for name, rows in layers]),
    )


SECTION = ReportSection("coverage", section, rank=5)
