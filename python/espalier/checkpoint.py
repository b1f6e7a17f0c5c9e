"""Checkpoints of a training loop: one call saves, one resumes.

    checkpoint = ep.checkpoint.resume(g, group, uri)
    emb = ep.DistEmbedding(g, group, 64, name="emb", resume_from=checkpoint and checkpoint.uri)
    ...
    if checkpoint:
        checkpoint.restore(loader=loader, model=model, optimizer=optimizer)
    for epoch in range(loader.state_dict()["epoch"], epochs):
        for batch in loader:
            ...
            if batch.step % 100 == 99:
                ep.checkpoint.save(g, group, uri, loader=loader, model=model, optimizer=optimizer, embeddings=[emb])

A resumed run continues with the next batch, and ends with the bits of a run that was not interrupted: saved are the
loader's place, states of models and optimizers (anything with state_dict and load_state_dict), arrays of the program, the
random states of NumPy and, where it is imported, torch of every rank, DistTensors, and DistEmbeddings with their
optimizers' state. Nothing is pickled. A checkpoint is complete or not there; all ranks call these functions.
"""

import json
import os
import sys

import numpy as np

from espalier.errors import InvalidArgument
from espalier.saved import list_saved_tensors, load_tensors, remove_saved_tensors, save_tensors
from espalier.tensor import DistTensor

_STATE = "espalier-checkpoint-state"


def save(g, group, uri, *, loader=None, model=None, optimizer=None, state=None, embeddings=(), tensors=(), keep=2):
    """Saves a checkpoint in a folder below `uri` (a folder, or an s3:// URI), and removes all but the last `keep`.

    loader: the loader whose next batch comes next. state: {name: array, number, string, list or dict} of the program.
    tensors: DistTensors. Every rank passes the same; of loader, model, optimizer and state rank 0's are saved.
    """
    shared = {"loader": loader and loader.state_dict(), "model": model and model.state_dict(),
              "optimizer": optimizer and optimizer.state_dict(), "state": state}
    of_ranks = _gather_bytes(group, _pack(_random_state()))
    embeddings = list(embeddings)
    for embedding in embeddings:
        embedding.await_steps()
    group.barrier()  # all ranks have taken the steps that are saved
    if group.rank == 0:
        parts = [_pack(shared), *of_ranks]
        blob = np.concatenate([np.frombuffer(part, np.uint8) for part in parts])
        held = DistTensor.create(g, blob.shape, np.uint8, _STATE, persistent=True)
        try:
            held[:] = blob
            names = list_saved_tensors(uri)
            name = f"{int(names[-1]) + 1 if names else 1:012d}"
            save_tensors(g, _join(uri, name), [held, *tensors], embeddings,
                         {"parts": json.dumps([len(part) for part in parts])})
            for old in names[: max(0, len(names) + 1 - keep)]:
                remove_saved_tensors(_join(uri, old))
        finally:
            DistTensor.drop(g, _STATE)
    group.barrier()


def resume(g, group, uri):
    """Returns the newest Checkpoint below `uri`; None if there is none, or if the job was told to begin anew
    (ESPALIER_RESUME=never). The DistTensors that it holds exist afterwards (DistTensor.open)."""
    wanted = os.environ.get("ESPALIER_RESUME", "auto") != "never"
    found = b""
    if group.rank == 0 and wanted:
        names = list_saved_tensors(uri)
        if names:
            DistTensor.drop(g, _STATE)  # of an attempt to resume that has failed
            _, notes = load_tensors(g, _join(uri, names[-1]))
            found = json.dumps([names[-1], json.loads(notes["parts"])]).encode()
    found = _broadcast_bytes(group, found)
    if not found:
        return None
    name, sizes = json.loads(found)
    held = DistTensor.open(g, _STATE)
    blob = held[:].tobytes()
    group.barrier()
    if group.rank == 0:
        DistTensor.drop(g, _STATE)
    begin = [sum(sizes[:part]) for part in range(len(sizes))]
    parts = [blob[first:first + size] for first, size in zip(begin, sizes)]
    if len(parts) - 1 != group.size:
        raise InvalidArgument(f"the checkpoint {_join(uri, name)} is of {len(parts) - 1} ranks, and there are {group.size}")
    return Checkpoint(_join(uri, name), _unpack(parts[0]), _unpack(parts[1 + group.rank]))


class Checkpoint:
    """What was saved. `uri` is its folder, which DistEmbedding(resume_from=) takes; `state` the program's own."""

    def __init__(self, uri, shared, of_rank):
        self.uri, self.state = uri, shared["state"]
        self._shared, self._of_rank = shared, of_rank

    def restore(self, *, loader=None, model=None, optimizer=None):
        """Loads the states of these, and the random states of this rank."""
        for name, target in (("loader", loader), ("model", model), ("optimizer", optimizer)):
            if target is None:
                continue
            if self._shared[name] is None:
                raise InvalidArgument(f"the checkpoint {self.uri} was saved without a {name}")
            target.load_state_dict(self._shared[name])
        _set_random_state(self._of_rank)


def _join(uri, name):
    return os.fspath(uri).rstrip("/") + "/" + name


# --- values as bytes: a JSON document with the arrays behind it


def _pack(value):
    arrays = []
    document = json.dumps(_encode(value, arrays)).encode()
    return b"".join([len(document).to_bytes(8, "little"), document, *arrays])


def _encode(value, arrays):
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, dict):
        return {"dict": [[_encode(key, arrays), _encode(item, arrays)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        arrays.append(array.tobytes())
        return {"array": [array.dtype.str, list(array.shape)]}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        tensor = value.detach().cpu().contiguous()
        arrays.append(tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
        return {"tensor": [str(tensor.dtype), list(tensor.shape), str(value.device)]}
    raise InvalidArgument(f"a checkpoint takes numbers, strings, arrays, tensors, lists and dicts, not {type(value).__name__}")


def _unpack(data):
    size = int.from_bytes(data[:8], "little")
    return _Decoder(data, 8 + size).decode(json.loads(data[8:8 + size]))


class _Decoder:
    def __init__(self, data, offset):
        self._data, self._offset = data, offset

    def _take(self, size):
        self._offset += size
        return bytearray(self._data[self._offset - size:self._offset])

    def decode(self, node):
        (kind, value), = node.items()
        if kind == "value":
            return value
        if kind == "dict":
            return {self.decode(key): self.decode(item) for key, item in value}
        if kind in ("list", "tuple"):
            items = [self.decode(item) for item in value]
            return items if kind == "list" else tuple(items)
        if kind == "array":
            dtype, shape = np.dtype(value[0]), value[1]
            count = int(np.prod(shape, dtype=np.int64))
            return np.frombuffer(self._take(count * dtype.itemsize), dtype).reshape(shape)
        import torch

        dtype = getattr(torch, value[0].removeprefix("torch."))
        count = int(np.prod(value[1], dtype=np.int64))
        if count == 0:
            return torch.empty(value[1], dtype=dtype)
        raw = torch.frombuffer(self._take(count * torch.empty(0, dtype=dtype).element_size()), dtype=torch.uint8)
        return raw.view(dtype).reshape(value[1]).to(value[2])


def _random_state():
    kind, keys, position, has_gauss, cached = np.random.get_state()
    state = {"numpy": [kind, np.asarray(keys), int(position), int(has_gauss), float(cached)]}
    if "torch" in sys.modules:
        state["torch"] = sys.modules["torch"].get_rng_state()
    return state


def _set_random_state(state):
    np.random.set_state(tuple(state["numpy"]))
    if "torch" in state:
        import torch

        torch.set_rng_state(state["torch"])


# --- bytes of different lengths between ranks


def _gather_bytes(group, data):
    sizes = group.all_gather(np.array([len(data)], np.int64))[:, 0]
    padded = np.zeros(sizes.max(), np.uint8)
    padded[:len(data)] = np.frombuffer(data, np.uint8)
    return [row[:size].tobytes() for row, size in zip(group.all_gather(padded), sizes)]


def _broadcast_bytes(group, data):
    size = group.broadcast(np.array([len(data)], np.int64))[0]
    values = np.zeros(size, np.uint8)
    if group.rank == 0:
        values[:] = np.frombuffer(data, np.uint8)
    return (group.broadcast(values) if size else values).tobytes()
