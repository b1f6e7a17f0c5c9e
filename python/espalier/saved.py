"""Saves tensors and embeddings in files (docs/saved-tensors.md). They can be loaded with any partitioning of the same
graph.

Every save needs a new folder or s3:// URI. A save is atomic. One rank calls these functions, with a barrier of all
ranks before and after. If an object store does not respond, Ctrl-C ends a call only after ESPALIER_S3_PATIENCE_SECONDS.
"""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from espalier import _core
from espalier.tensor import DistTensor
from espalier.typing import Path

if TYPE_CHECKING:
    from espalier.embedding import DistEmbedding
    from espalier.graph import DistGraph


def save_tensors(g: "DistGraph", uri: Path, tensors: Iterable[DistTensor] = (),
                 embeddings: "Iterable[DistEmbedding]" = (), notes: Mapping[str, str] | None = None) -> None:
    """Saves DistTensors, DistEmbeddings with their optimizer's state, and `notes` ({str: str}). AlreadyExists: `uri`
    already has a save, which is not overwritten."""
    keys = [tensor._key() for tensor in tensors]
    tables = [embedding._table() for embedding in embeddings]
    _core.save_tensors(g._core, os.fspath(uri), keys, tables, dict(notes or {}), dict(os.environ))


def load_tensors(g: "DistGraph", uri: Path) -> tuple[dict[str, DistTensor], dict[str, str]]:
    """Creates the tensors that were saved at `uri`, and returns ({name: DistTensor}, notes). Embeddings are loaded by
    DistEmbedding(resume_from=uri). NotFound: nothing was saved there. AlreadyExists: a tensor with one of these names
    exists."""
    tensors, notes = _core.load_tensors(g._core, os.fspath(uri), dict(os.environ))
    return {tensor.name: DistTensor(g, tensor) for tensor in tensors}, notes


def list_saved_tensors(uri: Path) -> list[str]:
    """Returns the sorted names of the folders directly below `uri` that contain saved tensors."""
    return _core.list_saved_tensors(os.fspath(uri), dict(os.environ))


def remove_saved_tensors(uri: Path) -> None:
    """Removes the save at `uri`. No error if there is none."""
    _core.remove_saved_tensors(os.fspath(uri), dict(os.environ))
