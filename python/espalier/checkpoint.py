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

A checkpoint contains the position of the loader, the states of a model and an optimizer (objects with state_dict and
load_state_dict), values of the program, the random states of every rank (Python's random, numpy.random, and torch's if
it is imported; not those of numpy.random.Generator objects), DistTensors, and DistEmbeddings with their optimizers'
state. A resumed run therefore continues with the next batch and ends with bitwise the same results as a run without
interruption. Nothing is pickled. Saving is atomic. All ranks must call these functions, and an error of one rank is
raised on all.
"""

import json
import os
import random
import re
import signal
import sys
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from espalier import ends
from espalier.distributed import ProcessGroup
from espalier.embedding import DistEmbedding
from espalier.errors import EspalierError, InvalidArgument
from espalier.saved import list_saved_tensors, load_tensors, remove_saved_tensors, save_tensors
from espalier.tensor import DistTensor
from espalier.typing import Path, Stateful

if TYPE_CHECKING:
    from espalier.graph import DistGraph

_STATE = "espalier-checkpoint-state"  # a tensor of bytes
_ROW_BYTES = 65536
_FOLDER = re.compile(r"checkpoint-(\d{12})")
_of_this_run = set()  # URIs below which all checkpoints are from the run of this process


def save(g: "DistGraph", group: ProcessGroup, uri: Path, *, loader: Stateful | None = None,
         model: Stateful | None = None, optimizer: Stateful | None = None, state: Any = None,
         embeddings: Iterable[DistEmbedding] = (), tensors: Iterable[DistTensor] = (), keep: int = 2) -> None:
    """Saves a checkpoint in a new folder below `uri` (a folder, or an s3:// URI), and removes all but the last `keep`
    checkpoints there.

    loader: a resumed run starts with its next batch. state: values of the program: numbers, strings, arrays, tensors,
    lists and dicts. tensors: DistTensors. All ranks must pass the same arguments; the states of loader, model and
    optimizer, and `state`, are those of rank 0.
    """
    embeddings, tensors, parts = list(embeddings), list(tensors), []

    def prepare():
        for embedding in embeddings:
            embedding.await_steps()
        if group.rank == 0:
            objects = {"loader": loader, "model": model, "optimizer": optimizer}
            states = {name: None if it is None else it.state_dict() for name, it in objects.items()}
            parts.append(_pack({**states, "state": state}))

    group.agree(_error_of(prepare))  # after this, all ranks have completed the steps to save
    parts += _gather_bytes(group, _pack(_random_state()))
    group.agree(_error_of(lambda: _save(g, uri, parts, embeddings, tensors, keep)) if group.rank == 0 else None)


def stop_if_asked(g: "DistGraph", group: ProcessGroup, uri: Path, **what: Any) -> None:
    """If any rank has received SIGTERM since the first call, saves a checkpoint of `what` (the arguments of `save`) and
    ends the program on all ranks with exit code 75. `espalier run`, `espalier launch` and the operator send SIGTERM to
    suspend or stop a job.

    Every rank must call this function between two steps, in the main thread. The ranks exchange eight bytes. After the
    first call, a SIGTERM ends the program only in this function; a second SIGTERM ends it at once.
    """
    global _stop_handler
    if _stop_handler is None:
        _stop_handler = _StopHandler()
    asked = np.array([float(_stop_handler.asked)])
    group.all_reduce(asked)
    if asked[0] > 0:
        save(g, group, uri, **what)
        ends.asked_to_stop()


class _StopHandler:
    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number, frame):
        self.asked = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


_stop_handler = None


def _save(g, uri, parts, embeddings, tensors, keep):
    sizes = [len(part) for part in parts]
    DistTensor.drop(g, _STATE)  # left by a save or a resume that failed
    held = DistTensor.create(g, (_first_rows(sizes)[-1], _ROW_BYTES), np.uint8, _STATE, persistent=True)
    try:
        for first, part in zip(_first_rows(sizes), parts):
            rows = np.zeros((_num_rows(len(part)), _ROW_BYTES), np.uint8)
            rows.reshape(-1)[:len(part)] = np.frombuffer(part, np.uint8)
            held[first:first + len(rows)] = rows
        numbers = _numbers(uri)
        save_tensors(g, _join(uri, numbers[-1] + 1 if numbers else 1), [held, *tensors], embeddings,
                     {"espalier.checkpoint": "1", "sizes": json.dumps(sizes)})
    finally:
        DistTensor.drop(g, _STATE)
    for old in numbers[:max(0, len(numbers) + 1 - keep)]:
        try:
            remove_saved_tensors(_join(uri, old))
        except EspalierError as error:
            warnings.warn(f"an old checkpoint could not be removed: {error}", stacklevel=2)


def resume(g: "DistGraph", group: ProcessGroup, uri: Path) -> "Checkpoint | None":
    """Returns the newest Checkpoint below `uri`, or None if there is none. In a job that starts from the beginning
    (ESPALIER_RESUME=never), the first call of a process removes the checkpoints of earlier runs there and returns None.

    Creates the DistTensors of the checkpoint with the saved rows; DistTensor.open opens them. AlreadyExists: a tensor
    with one of their names exists. InvalidArgument: the checkpoint has another number of ranks.
    """
    found = []
    error = _error_of(lambda: found.extend(_load_newest(g, uri))) if group.rank == 0 else None
    group.agree(error)
    found = _broadcast_bytes(group, json.dumps(found).encode() if group.rank == 0 else b"")
    if not json.loads(found):
        return None
    number, sizes = json.loads(found)
    first, loaded = _first_rows(sizes), []

    def read():
        if len(sizes) != 1 + group.size:
            raise InvalidArgument(f"the checkpoint {_join(uri, number)} is of {len(sizes) - 1} ranks, and there are "
                                  f"{group.size}")
        held = DistTensor.open(g, _STATE)
        loaded.extend(_unpack(held[first[part]:first[part + 1]].tobytes()[:sizes[part]]) for part in (0, 1 + group.rank))

    group.agree(_error_of(read))
    if group.rank == 0:
        DistTensor.drop(g, _STATE)
    return Checkpoint(_join(uri, number), *loaded)


def _load_newest(g, uri):
    numbers = _numbers(uri)
    if os.environ.get("ESPALIER_RESUME") == "never" and os.fspath(uri) not in _of_this_run:
        for number in numbers:
            remove_saved_tensors(_join(uri, number))
        _of_this_run.add(os.fspath(uri))
        return []
    if not numbers:
        return []
    DistTensor.drop(g, _STATE)  # left by a save or a resume that failed
    _, notes = load_tensors(g, _join(uri, numbers[-1]))
    if "espalier.checkpoint" not in notes:
        raise InvalidArgument(f"{_join(uri, numbers[-1])} holds saved tensors that espalier.checkpoint has not written")
    return [numbers[-1], json.loads(notes["sizes"])]


class Checkpoint:
    """A loaded checkpoint. `uri` is its folder, for DistEmbedding(resume_from=). `state` has the values of the
    program."""

    def __init__(self, uri, shared, of_rank):
        self.uri, self.state = uri, shared["state"]
        self._shared, self._of_rank = shared, of_rank

    def restore(self, *, loader: Stateful | None = None, model: Stateful | None = None,
                optimizer: Stateful | None = None) -> None:
        """Restores the states of these objects and the random states of this rank."""
        for name, target in (("loader", loader), ("model", model), ("optimizer", optimizer)):
            if target is None:
                continue
            if self._shared[name] is None:
                raise InvalidArgument(f"the checkpoint {self.uri} was saved without its {name}")
            target.load_state_dict(self._shared[name])
        _set_random_state(self._of_rank)


def _error_of(call):
    """Calls `call` and returns its exception, or None."""
    try:
        call()
    except Exception as error:
        return error
    return None


def _numbers(uri):
    """Returns the numbers of the checkpoints below `uri`, ascending. Ignores other saved tensors there."""
    names = [_FOLDER.fullmatch(name) for name in list_saved_tensors(uri)]
    return sorted(int(name[1]) for name in names if name)


def _join(uri, number):
    return f"{os.fspath(uri).rstrip('/')}/checkpoint-{number:012d}"


def _num_rows(size):
    return max(1, -(-size // _ROW_BYTES))


def _first_rows(sizes):
    """Returns the first row of each part and the number of rows: [parts + 1]. Each part starts at a new row."""
    return [sum(map(_num_rows, sizes[:part])) for part in range(len(sizes) + 1)]


# --- values as bytes: a JSON document, followed by the arrays


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
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays)
    if isinstance(value, np.ndarray):
        array = value
        if array.dtype.hasobject or array.dtype.fields:
            raise InvalidArgument(f"a checkpoint takes no arrays of {array.dtype}")
        arrays.append(array.tobytes())
        return {"array": [array.dtype.str, list(array.shape)]}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        tensor = value.detach().cpu().contiguous()
        arrays.append(tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
        return {"tensor": [str(tensor.dtype), list(tensor.shape)]}
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
        return raw.view(dtype).reshape(value[1])  # on the CPU; load_state_dict copies it to its device


def _random_state():
    kind, keys, position, has_gauss, cached = np.random.get_state()
    version, words, gauss = random.getstate()
    state = {"numpy": [kind, np.asarray(keys), int(position), int(has_gauss), float(cached)],
             "random": [version, np.asarray(words, np.int64), gauss]}
    torch = sys.modules.get("torch")
    if torch is not None:
        state["torch"] = torch.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            state["torch.cuda"] = torch.cuda.get_rng_state_all()
    return state


def _set_random_state(state):
    np.random.set_state(tuple(state["numpy"]))
    version, words, gauss = state["random"]
    random.setstate((version, tuple(words.tolist()), gauss))
    if "torch" in state:
        import torch

        torch.set_rng_state(state["torch"])
        if "torch.cuda" in state:
            torch.cuda.set_rng_state_all(state["torch.cuda"])


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
