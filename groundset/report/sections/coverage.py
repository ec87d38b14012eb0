"""Which documents, and which parts of what they are about, the questions cover."""

from collections import Counter

import numpy as np

from groundset.progress import counted
from groundset.report import pictures
from groundset.report.blocks import Grid, PageSection, Picture, Stated
from groundset.report.facts import RunFacts
from groundset.report.likeness import plane, reach
from groundset.report.shares import stated_share
from groundset.report.words import cut

_SHOWN = 100  # documents in the table
_LONGEST = 120


def section(facts: RunFacts) -> PageSection:
    """Tell how questions spread over the documents and over the space of their embeddings."""
    asked = Counter(doc_id for sample in facts.samples for doc_id in {chunk.doc_id for chunk in sample.contexts})
    figures = [
        stated_share("Documents asked about", sum(bool(asked[each.doc_id]) for each in facts.sources),
                     len(facts.sources), "document"),
        stated_share("Chunks asked about", len(facts.kept_chunks), len(facts.chunk_ids), "chunk"),
    ]  # fmt: skip
    notes, drawn = [], []
    if facts.chunks is None:
        notes.append("There is no map: not all chunks of this run have embeddings.")
    else:
        kept = sorted(facts.places[name] for name in facts.kept_chunks if name in facts.places)
        if found := reach(facts.chunks, kept):
            figures.append(Stated(
                "Nearness to what is asked", f"{found.mean:.2f} ({found.chance:.2f} by chance)",
                counted(found.chunks, "chunk"), "", "mean cosine of a chunk with the nearest one that is asked about; "
                "by chance means a random draw of as many chunks",
            ))  # fmt: skip
        if picture := _map(facts, kept):
            drawn.append(picture)
        else:
            notes.append("There is no map: it takes three chunks that are not alike.")
    return PageSection(
        "coverage",
        "What it covers",
        "Where in the documents the questions lie.",
        figures=figures,
        pictures=drawn,
        tables=[_by_document(facts, asked)],
        notes=notes,
    )


def _by_document(facts: RunFacts, asked: Counter[str]) -> Grid:
    chunks = Counter(facts.chunk_sources)
    passed = Counter(facts.chunk_sources[facts.places[name]] for name in facts.passed_over if name in facts.places)
    order = sorted(facts.sources, key=lambda each: -chunks[each.doc_id])
    rows = [
        (
            cut(each.title or each.path, _LONGEST),
            f"{chunks[each.doc_id]:,}",
            f"{chunks[each.doc_id] - passed[each.doc_id]:,}" if facts.knows_usable else "not known",
            f"{asked[each.doc_id]:,}",
        )
        for each in order[:_SHOWN]
    ]
    more = f", the {_SHOWN} longest of {len(order):,}" if len(order) > _SHOWN else ""
    return Grid(f"Documents{more}", ("document", "chunks", "usable", "samples"), rows)


def _map(facts: RunFacts, kept: list[int]) -> Picture | None:
    if facts.chunks is None or (found := plane(facts.chunks)) is None:
        return None
    vain = sorted(facts.places[name] for name in facts.tried_chunks - facts.kept_chunks if name in facts.places)
    others = np.setdiff1d(np.arange(len(facts.chunks)), [*kept, *vain]).tolist()
    layers = [("not asked", others), ("attempted in vain", vain), ("asked about", kept)]
    return Picture(
        "Map of the chunks",
        f"Each point is a chunk; near ones are alike. The two directions show {100 * found.shown:.0f} % of how the "
        "embeddings differ, so what lies together here may still be apart.",
        pictures.points("map", [(name, found.places[places]) for name, places in layers]),
        Grid("", ("chunks", "count"), [(name, f"{len(places):,}") for name, places in layers]),
    )
