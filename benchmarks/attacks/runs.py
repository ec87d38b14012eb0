"""Untrusted runs and embedders: links, damage, endless views, pickles."""

import json
import os
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

from attacks.target import Target

_SECONDS = 40
_CAP_MIB = 1_500
_VICTIM = "kept as it is"
_SECRET = "the code of the safe"
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


def report_through_a_link(target: Target, folder: Path) -> str:
    """Make the report of a run a link to another file."""
    run, victim = _run(folder), _victim(folder)
    (run / "report.html").symlink_to(victim)
    outcome = target.run("report", run, "--no-track", seconds=_SECONDS, memory_mib=_CAP_MIB)
    return outcome.fault(0) or _changed(victim)


def database_through_a_link(target: Target, folder: Path) -> str:
    """Make the database of a run a link to that of another one."""
    run, other = _run(folder), _run(folder / "other")
    (run / "run.sqlite").unlink()
    (run / "run.sqlite").symlink_to(other / "run.sqlite")
    return _rejected(target, "review", run, "--no-browser", message=" link")


def log_of_a_database_through_a_link(target: Target, folder: Path) -> str:
    """Make the write-ahead log of a database a link to another file, to which SQLite would write."""
    run, victim = _run(folder), _victim(folder)
    (run / "run.sqlite-wal").symlink_to(victim)
    return _rejected(target, "review", run, "--no-browser", message=" link") or _changed(victim)


def endless_view_as_samples(target: Target, folder: Path) -> str:
    """Replace a table by an endless view."""
    columns = "i AS position, 'x' || i AS id, 0 AS attempt, '{}' AS record, x'00' AS vector FROM n"
    run = _run(folder, "DROP TABLE samples", f"CREATE VIEW samples AS {_ENDLESS}{columns}")
    return _damaged(target, folder, run)


def endless_view_as_sessions(target: Target, folder: Path) -> str:
    """Replace a summed table by an endless view."""
    columns = "i AS number, 'x' AS started, 1.0 AS seconds FROM n"
    run = _run(folder, "DROP TABLE sessions", f"CREATE VIEW sessions AS {_ENDLESS}{columns}")
    return _damaged(target, folder, run)


def trigger_in_a_run(target: Target, folder: Path) -> str:
    """Add a trigger that deletes all samples at the first review."""
    run = _run(folder, "CREATE TRIGGER t AFTER INSERT ON reviews BEGIN DELETE FROM samples; END")
    return _rejected(target, "review", run, "--no-browser", message="damaged")


def invalid_meta(target: Target, folder: Path) -> str:
    """Replace the models in the metadata by a list."""
    run = _run(folder, "UPDATE meta SET value = '[]' WHERE name = 'models'")
    return _rejected(target, "report", run, "--no-track", message="damaged")


def vectors_of_another_length(target: Target, folder: Path) -> str:
    """Store vectors of two lengths."""
    run = _run(folder, "UPDATE chunks SET vector = x'0000803f' WHERE position = 0")
    return _rejected(target, "merge", run, _run(folder / "other"), "--out", folder / "out", message="damaged")


def rank_of_thirty_digits(target: Target, folder: Path) -> str:
    """Store a rank larger than a 64-bit integer."""
    rank = "1" + 30 * "0"
    return _damaged(
        target, folder, _run(folder, f"""UPDATE samples SET record = replace(record, '"rank":1', '"rank":{rank}')""")
    )


def nan_as_probability(target: Target, folder: Path) -> str:
    """Store NaN as a probability, which exports would contain."""
    change = """UPDATE samples SET record = replace(record, '"probability":0.75', '"probability":NaN')"""
    return _damaged(target, folder, _run(folder, change))


def invalid_utf8(target: Target, folder: Path) -> str:
    """Store a secret with invalid UTF-8, which SQLite's error would print."""
    change = f"UPDATE samples SET record = CAST(x'{_SECRET.encode().hex()}ff' AS TEXT) WHERE position = 1"
    return _damaged(target, folder, _run(folder, change))


def embedder_with_damaged_weights(target: Target, folder: Path) -> str:
    """Truncate the weights of an embedder."""
    (_embedder(folder) / "model.safetensors").write_bytes(b"\xff" * 64)
    return _embedder_rejected(target, folder, message="model.safetensors is damaged")


def embedder_with_a_pickle(target: Target, folder: Path) -> str:
    """Give an embedder weights that run a command when they are unpickled."""

    class Command:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {folder / 'ran'}",)

    (_embedder(folder) / "pytorch_model.bin").write_bytes(pickle.dumps(Command()))
    fault = _embedder_rejected(target, folder, message="pytorch_model.bin")
    return "the command was run" if (folder / "ran").exists() else fault


def _run(folder: Path, *changes: str) -> Path:
    """Create a small run, and run SQL statements on its database."""
    from large_set import made_up

    from groundset.run import save_run

    run = made_up(samples=4, chunks=10)
    run = run.replace(samples=[sample.model_copy(update={"probability": 0.75}) for sample in run.samples])
    save_run(folder / "run", run, run.lineage("import"))
    with closing(sqlite3.connect(folder / "run" / "run.sqlite", isolation_level=None)) as connection:
        for change in changes:
            connection.execute(change)
    return folder / "run"


def _victim(folder: Path) -> Path:
    (folder / "victim").write_text(_VICTIM, encoding="utf-8")
    return folder / "victim"


def _changed(victim: Path) -> str:
    return "" if victim.read_text(encoding="utf-8") == _VICTIM else "the other file was overwritten"


def _rejected(target: Target, *arguments: str | Path, message: str) -> str:
    """Run a command that must exit with status 2 and a message; return the fault."""
    outcome = target.run(*arguments, seconds=_SECONDS, memory_mib=_CAP_MIB)
    if _SECRET in outcome.text:
        return "prints stored text"
    return outcome.fault(2, message=message)


def _damaged(target: Target, folder: Path, run: Path) -> str:
    """Export a damaged run, which must fail without output; return the fault."""
    fault = _rejected(target, "export", run, "--format", "csv", "--out", folder / "out", message="damaged")
    return fault or ("a file was written" if (folder / "out").exists() else "")


def _embedder(folder: Path) -> Path:
    """Create the folder of an embedder without weights."""
    embedder = folder / "embedder"
    embedder.mkdir()
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8}
    config = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 5, **sizes}
    (embedder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (embedder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", encoding="utf-8")
    return embedder


def _embedder_rejected(target: Target, folder: Path, message: str) -> str:
    """Run a command with an embedder that must be rejected; return the fault."""
    outcome = target.run(
        "roundtrip", _run(folder), "--embedder", folder / "embedder", seconds=_SECONDS, memory_mib=_CAP_MIB
    )
    is_unsafe = any(word in outcome.text for word in ("weights_only", "WeightsUnpickler"))
    return "prints how to disable the protection" if is_unsafe else outcome.fault(2, message=message)


ATTACKS = (
    report_through_a_link,
    database_through_a_link,
    log_of_a_database_through_a_link,
    endless_view_as_samples,
    endless_view_as_sessions,
    trigger_in_a_run,
    invalid_meta,
    vectors_of_another_length,
    rank_of_thirty_digits,
    nan_as_probability,
    invalid_utf8,
    embedder_with_damaged_weights,
    embedder_with_a_pickle,
)
