"""Load topics, judgements and corpus with ir_datasets, and measure a perfect ranking with trec_eval's measures."""

import json
import sys
from pathlib import Path

import ir_measures
from ir_datasets.formats import GenericDoc, JsonlDocs, TrecQrels, TsvQueries
from ir_measures import RR, R, nDCG


class LocalFile:
    """A file that ir_datasets would otherwise download."""

    def __init__(self, path):
        self._path = path

    def path(self, force=True):
        return str(self._path)

    def stream(self):
        return self._path.open("rb")


folder = Path(sys.argv[1])
queries = list(TsvQueries(LocalFile(folder / "topics.tsv")).queries_iter())
qrels = list(TrecQrels(LocalFile(folder / "qrels.txt"), {1: "relevant"}).qrels_iter())
docs = [
    document
    for file in sorted((folder / "corpus").glob("*.jsonl"))
    for document in JsonlDocs([LocalFile(file)], GenericDoc, {"doc_id": "id", "text": "contents"}).docs_iter()
]
ranked = [ir_measures.ScoredDoc(each.query_id, each.doc_id, 1.0) for each in qrels]
judged = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
measured = ir_measures.pytrec_eval.calc_aggregate([nDCG @ 10, R @ 10, RR], judged, ranked)
read = {
    "queries": {query.query_id: query.text for query in queries},
    "docs": {document.doc_id: document.text for document in docs},
    "qrels": [[each.query_id, each.doc_id, each.relevance] for each in qrels],
    "measured": {str(measure): value for measure, value in measured.items()},
}
Path(sys.argv[2]).write_text(json.dumps(read))
