"""The TREC export, read like PyTerrier, ir_datasets, trec_eval and Anserini."""

import json
import re
from urllib.parse import unquote

from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS

ODD = ["a b", "a\tb", "a:b", "#1", "100%", "50%20", "ü\u2028\u00a0\0", "plain-0001"]


def load(out):
    topics, judged = {}, {}
    for line in (out / "topics.tsv").read_text(encoding="utf-8").splitlines():
        [(name, question)] = re.findall(r"^([^:\s]+)[\s:]+(.*)$", line)  # PyTerrier's singleline
        assert line.split("\t") == [name, question], "two columns for ir_datasets and Anserini"
        assert not line.startswith("#")
        topics[name] = question
    for line in (out / "qrels.txt").read_text(encoding="utf-8").splitlines():
        name, iteration, chunk, grade = line.split()
        assert (iteration, grade) == ("0", "1")
        judged.setdefault(name, []).append(chunk)
    with (out / "corpus" / "chunks.jsonl").open(encoding="utf-8") as stream:
        corpus = {row["id"]: row for row in map(json.loads, stream)}
    return topics, judged, corpus


def test_trec_round_trip(full_run, samples, chunks, tmp_path):
    groups = (("clock-0000", "ferry-0002"), ("ferry-0001", "clock-0000"))
    asked = [samples[0], samples[1].model_copy(update={"retrieval_gt": groups})]
    write_set(full_run.replace(samples=asked), [EXPORTS["trec"]], tmp_path / "out")
    topics, judged, corpus = load(tmp_path / "out")
    assert topics == {sample.id: sample.question for sample in asked}
    assert judged == {"q-1": ["ferry-0002"], "q-2": ["clock-0000", "ferry-0002", "ferry-0001"]}
    assert {name: row["contents"] for name, row in corpus.items()} == {chunk.chunk_id: chunk.text for chunk in chunks}


def test_trec_ids_are_percent_encoded(full_run, samples, chunks, tmp_path):
    odd = [chunks[0].model_copy(update={"chunk_id": name}) for name in ODD]
    asked = [
        samples[0].model_copy(
            update={"id": name, "question": f"Line\n one,\ttwo\u2028three {name}?", "retrieval_gt": ((name,),)}
        )
        for name in ODD
    ]
    write_set(full_run.replace(samples=asked, chunks=[*chunks, *odd]), [EXPORTS["trec"]], tmp_path / "out")
    topics, judged, corpus = load(tmp_path / "out")
    assert [unquote(name) for name in topics] == ODD
    assert {unquote(name): [unquote(chunk) for chunk in found] for name, found in judged.items()} == {
        name: [name] for name in ODD
    }
    assert all(chunk in corpus for found in judged.values() for chunk in found)
    assert topics["plain-0001"] == "Line one, two three plain-0001?"
