"""Wrong uses of every command, for the snapshots of error messages in ``texts/``."""

import shutil
from pathlib import Path

WRONG_USES: dict[str, tuple[str, ...]] = {
    "generate": (
        "DOCS", "MISSING --out NEW", "EMPTY --out NEW", "s3://key:secret@bucket --out NEW",
        "DOCS --out NEW --size 0", "DOCS --out NEW --size many",
        "DOCS --out NEW --lm nobody-knows-this", "DOCS --out NEW --lm openai/scripted@ftp://here",
        "DOCS --out NEW --lm openai/one@http://here/v1 --lm openai/other@http://there/v1",
        "DOCS --out NEW --lm openai/one@http://here/v1 --lm nope.gguf", "DOCS --out NEW --lm openai/one@MISSING.txt",
        "DOCS --out NEW --timeout 0", "DOCS --out NEW --retries -1",
        "DOCS --out NEW --mix nope=1", "DOCS --out NEW --mode nope", "DOCS --out NEW --chunk-size 0",
        "DOCS --out NEW --splits train=0.5,test=0.6", "DOCS --out NEW --critic nope",
        "DOCS --out NEW --language German",
        "DOCS --out NEW --compiled MISSING", "DOCS --out NEW --embedder MISSING", "DOCS --out NEW --config MISSING",
        "DOCS --out NEW --recipe nope", "DOCS --out NEW --answer-variants 99",
        "DOCS --out NEW --recipe roundtrip --answer-variants 2",
        "DOCS --out NEW --recipe profiled --mode guided",
        "DOCS --out NEW --recipe profiled --mode free --profile-file MISSING",
        "DOCS --out NEW --recipe profiled --mode free --profile-file ROWS",
        "DOCS --out NEW --mix like=1", "DOCS --out NEW --like MISSING",
        "DOCS --out NEW --like DOCS", "DOCS --out NEW --recipe multi --mix simple=1",
        "DOCS --size 5 --out RUN", "DOCS --out DAMAGED", "DOCS --out DOCS",
    ),
    "chunk": (
        "DOCS", "MISSING --out -", "EMPTY --out -", "memory://missing --out -",
        "DOCS --out - --chunker nope", "DOCS --out - --engine nope",
        "DOCS --out FILE.csv",
    ),
    "judge": (
        "ROWS --out -", "questions MISSING --out -", "questions ROWS --out -", "chunks ROWS --critic nope --out -",
        "chunks ROWS --panel --lm nope --out -", "questions ROWS --panel --out -",
    ),
    "show": (
        "MISSING", "EMPTY", "DAMAGED", "RUN --limit 0", "RUN --id zzz", "RUN --step judge", "RUN --rejects --step nope",
        "RUN --rejects --id q", "RUN --rejects --json --out FILE.jsonl",
    ),
    "review": ("MISSING", "EMPTY", "RUN --step judge", "RUN --port 99999999"),
    "export": (
        "RUN --out NEW", "MISSING --format csv --out NEW", "DAMAGED --format csv --out NEW",
        "RUN --format nope --out NEW", "RUN --format csv --out DOCS",
    ),
    "push": (
        "RUN --licence mit", "RUN --repo nope --licence mit", "RUN --repo you/golden",
        "EMPTY --repo you/golden --licence mit",
    ),
    "roundtrip": (
        "MISSING", "RUN --chunk-size 0", "RUN --embedder MISSING", "RUN --chunker nope",
        "RUN --retriever qdrant:localhost", "RUN --rerank MISSING",
    ),
    "report": ("MISSING", "EMPTY", "DAMAGED", "RUN --out DOCS"),
    "compare": ("RUN", "RUN RUN", "RUN MISSING", "RUN EMPTY"),
    "import": ("MISSING --out NEW", "EMPTY --out NEW", "ROWS --out NEW", "ROWS --format nope --out NEW"),
    "merge": ("RUN --out NEW", "RUN RUN --out NEW", "RUN EMPTY --out NEW", "RUN OTHER --out DOCS"),
    "sample": (
        "RUN --out NEW", "RUN --size 0 --out NEW", "RUN --size 99 --out NEW", "RUN --size 2 --by nope --out NEW",
        "RUN --size 2 --by profile.Type --out NEW",
    ),
    "split": ("RUN --out NEW", "RUN --splits train=2 --out NEW", "RUN --splits a=0.5,b=0.5 --out DOCS"),
    "drop": (
        "RUN --list", "RUN --where nope --list", "RUN --where rank> --list", "RUN --where rank<0",
        "EMPTY --where True --list",
    ),
    "relabel": ("RUN --out NEW", "RUN --critic nope --out NEW", "RUN --critic lm --out NEW"),
    "update": (
        "RUN MISSING --out NEW", "RUN DOCS --out NEW --engine nope", "RUN EMPTY --out NEW", "EMPTY DOCS --out NEW",
    ),
    "compile": (
        "nope", "judge --labels MISSING", "judge --labels ROWS", "question --optimizer nope", "question",
        "judge --target-precision 2", "judge --budget nope", "judge --optimizer labeled",
    ),
    "experiments": ("nope", "--limit 0"),
    "promote": ("nope",),
    "ui": ("--port 0", "--port 99999999"),
    "models": ("pull nope", "nope"),
    "labels": ("check MISSING", "check ROWS", "stats EMPTY", "from EMPTY --out NEW", "from EMPTY --out -"),
}  # fmt: skip
"""By command, the arguments of uses that are refused; words in capitals are paths of ``paths``."""


def paths(work: Path) -> dict[str, Path]:
    """Return by name the paths that wrong uses speak of, beside the runs ``run`` and ``other`` of a golden run."""
    (work / "empty").mkdir()
    rows = work / "rows.jsonl"
    rows.write_text('{"id": 1}\n{"broken\n', "utf-8")
    damaged = work / "damaged"
    shutil.copytree(work / "run", damaged)
    (damaged / "run.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4096))
    return {
        "MISSING": work / "missing",
        "EMPTY": work / "empty",
        "DOCS": work / "docs",
        "RUN": work / "run",
        "OTHER": work / "other",
        "DAMAGED": damaged,
        "ROWS": rows,
        "NEW": work / "new",
        "FILE": work / "file",
    }
