"""Report section: documents and embedding space covered by the questions."""

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
    """Show the spread of questions over documents and embedding space."""
    known = {document.doc_id for document in run.documents}
    metrics = [
        share_metric("Documents covered", len(run.sampled_documents & known), len(known), "document"),
        share_metric("Chunks covered", len(run.sampled_chunks), len(run.chunks), "chunk"),
    ]
    notes, drawn = [], []
    sampled = sorted(run.index_of[name] for name in run.sampled_chunks if name in run.index_of)
    if not len(run.chunk_vectors):
        notes.append("No map: some chunks of this run have no embedding.")
    else:
        if found := nearness(run.chunk_vectors, sampled):
            metrics.append(Metric(
                "Representativeness", f"{found.mean:.2f} ({found.chance:.2f} by chance)",
                counted(found.chunks, "chunk"), "", "mean cosine of a chunk with the nearest chunk of a sample; "
                "by chance: with as many randomly drawn chunks",
            ))  # fmt: skip
        if chart := _map(run, sampled):
            drawn.append(chart)
        else:
            notes.append("No map: it needs three different chunks.")
    about = "The documents and chunks that the questions use."
    return PageSection("coverage", "Coverage", about, metrics, drawn, [_by_document(run)], notes)


def _by_document(run: RunAnalysis) -> PageTable:
    samples = Counter(doc_id for sample in run.samples for doc_id in {chunk.doc_id for chunk in sample.contexts})
    chunks = Counter(chunk.doc_id for chunk in run.chunks)
    skipped = Counter(run.chunks[run.index_of[name]].doc_id for name in run.skipped_chunks if name in run.index_of)
    order = sorted(run.documents, key=lambda document: -chunks[document.doc_id])
    rows = [
        (
            cut(document.title or document.path, _LONGEST),
            f"{chunks[document.doc_id]:,}",
            f"{chunks[document.doc_id] - skipped[document.doc_id]:,}" if run.knows_usable else UNKNOWN,
            f"{samples[document.doc_id]:,}",
        )
        for document in order[:_SHOWN]
    ]
    more = f", the {_SHOWN} longest of {len(order):,}" if len(order) > _SHOWN else ""
    return PageTable(f"Documents{more}", ("document", "chunks", "usable", "samples"), rows)


def _map(run: RunAnalysis, sampled: list[int]) -> Chart | None:
    found = plane(run.chunk_vectors)
    if found is None:
        return None
    positions, explained = found
    failed = sorted(run.index_of[name] for name in run.attempted_chunks - run.sampled_chunks if name in run.index_of)
    others = np.setdiff1d(np.arange(len(run.chunks)), [*sampled, *failed]).tolist()
    layers = [("not attempted", others), ("attempted, no sample", failed), ("sampled", sampled)]
    return Chart(
        "Map of the chunks",
        "Each point is a chunk; nearby chunks are similar. The two principal components explain "
        f"{100 * explained:.0f} % of the variance of the embeddings, so nearby points may still differ.",
        charts.points("map", [(name, positions[rows]) for name, rows in layers]),
        PageTable("", ("chunks", "count"), [(name, f"{len(rows):,}") for name, rows in layers]),
    )


SECTION = ReportSection("coverage", section, rank=5)
