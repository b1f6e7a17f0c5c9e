"""Records sampled edges (docs/sampling.md, "Comparing two runs").

    with ep.audit.AuditWriter(g, f"audit-{g.rank()}.bin") as audit:
        for batch in loader:
            audit.record(batch)
    digest, expansions = ep.audit.samples_digest(["audit-0.bin", "audit-1.bin"])

If the loader of a program has the split, seed, batch size and sampler of a job, the digest is the `samplesDigest` that
`espalier run --audit` reports for the job.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from espalier import _core
from espalier.typing import Path

if TYPE_CHECKING:
    from espalier.block import MiniBatch
    from espalier.graph import DistGraph


class AuditWriter:
    """Records batches in a file, replacing an existing one. Epochs and steps must ascend."""

    def __init__(self, g: "DistGraph", path: Path) -> None:
        self._core = _core.open_audit(g._core, os.fspath(path))

    def record(self, batch: "MiniBatch") -> None:
        self._core.record(batch._core)

    def close(self) -> None:
        """Writes the remaining records. No batch can be recorded afterwards."""
        self._core.close()

    def __enter__(self) -> "AuditWriter":
        return self

    def __exit__(self, kind, error, trace) -> None:
        self.close()


def samples_digest(paths: Iterable[Path]) -> tuple[str, int]:
    """Returns (digest, number of distinct expansions) of the files of all ranks. DataLoss: two ranks sampled different
    edges for the same node."""
    return _core.merge_audits([os.fspath(path) for path in paths])
