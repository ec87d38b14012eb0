"""A file on its way into the cache: hashed while it grows, moved into place only when it is right."""

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from groundset.models.cache import record_sha256
from groundset.models.catalogue import ModelFile
from groundset.models.progress import human_size
from programs.errors import ChecksumError, ModelError


class PartFile:
    """The `.part` file of one model file; it never grows beyond the size that is known of it."""

    def __init__(self, file: ModelFile, staging: Path) -> None:
        """Name the `.part` file of `file` below the folder `staging`."""
        self.file = file
        self.path = staging / f"{file.path}.part"
        self._sha256 = file.sha256

    def size(self) -> int:
        """Return how many bytes an earlier attempt left behind."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def receive(self, chunks: Iterable[bytes], *, resume: bool = False) -> Iterable[int]:
        """Write `chunks`, after the bytes already there if `resume`, and yield the size reached so far.

        Raises:
            ChecksumError: The bytes are not those that `file` describes; the `.part` file has been deleted.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with self.path.open("r+b" if resume else "wb") as stream:
            while block := stream.read(1 << 20) if resume else b"":
                digest.update(block)
            reached = stream.tell()
            for chunk in chunks:
                reached += len(chunk)
                if reached > self.file.size:
                    break
                digest.update(chunk)
                stream.write(chunk)
                yield reached
            stream.flush()
            os.fsync(stream.fileno())
        if reached < self.file.size:
            self._refuse(f"ends after {reached:,} of {self.file.size:,} bytes")
        if reached > self.file.size:
            self._refuse(f"is longer than {self.file.size:,} bytes")
        self._sha256 = digest.hexdigest()
        if self.file.sha256 not in ("", self._sha256):
            self._refuse(f"has SHA-256 {self._sha256} instead of {self.file.sha256}")

    def install(self, target: Path) -> None:
        """Move the received file to its place and remember its hash."""
        target.parent.mkdir(parents=True, exist_ok=True)
        self.path.replace(target)
        record_sha256(target, self._sha256)

    def _refuse(self, reason: str) -> None:
        self.path.unlink(missing_ok=True)
        raise ChecksumError(f"{self.file.path} {reason}: refused and deleted.")


def require_space(folder: Path, needed: int) -> None:
    """Raise a `ModelError` unless the disk of `folder` has `needed` bytes free."""
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelError(
            f"Not enough disk space in {folder}: {human_size(needed)} needed, {human_size(free)} free "
            "(GROUNDSET_HOME moves the cache)."
        )
