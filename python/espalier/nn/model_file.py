"""Model files: parameters and buffers as safetensors, with metadata that describe the model's structure
(docs/outputs.md)."""

import json
import math
import os
import pathlib
from collections.abc import Mapping

import numpy as np
import torch

from espalier.errors import DataLoss, InvalidArgument
from espalier.typing import Path

_FORMAT = "espalier-model-1"
_LARGEST_HEADER = 100 << 20
_DTYPES = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16,
           "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_}
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}


def read_model_file(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Returns ({name: tensor}, {name: text}). InvalidArgument: the file is not a model file. DataLoss: the file is
    damaged."""
    content = pathlib.Path(path).read_bytes()
    size = int.from_bytes(content[:8], "little")
    try:
        if len(content) < 8 or size > min(len(content) - 8, _LARGEST_HEADER):
            raise ValueError("no header")
        header = json.loads(content[8:8 + size])
        metadata = header.pop("__metadata__", {})
        described = [(name, np.dtype(_DTYPES[part["dtype"]]), part["shape"], *part["data_offsets"])
                     for name, part in header.items()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(f"{path} is not a model file of Espalier: {error}") from None
    if metadata.get("format") != _FORMAT:
        raise InvalidArgument(f'{path} is not a model file of Espalier: its metadata lack "format": "{_FORMAT}"')
    data, tensors = content[8 + size:], {}
    for name, dtype, shape, begin, end in described:
        size = dtype.itemsize * math.prod(shape)
        if not 0 <= begin <= end <= len(data) or end - begin != size:
            raise DataLoss(f"{path} is damaged: tensor {name!r} does not fit the file")
        tensors[name] = torch.from_numpy(np.frombuffer(data[begin:end], dtype).reshape(shape).copy())
    return tensors, metadata


def write_model_file(path: Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> None:
    """Writes {name: tensor} and {name: text}. The file is created atomically."""
    header, parts, offset = {"__metadata__": {"format": _FORMAT, **metadata}}, [], 0
    for name, tensor in sorted(tensors.items()):
        array = np.ascontiguousarray(tensor.detach().cpu().numpy())
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        parts.append(array.tobytes())
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # arrays are aligned to 8 bytes
    unfinished = f"{os.fspath(path)}.{os.getpid()}.unfinished"
    with open(unfinished, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))
    os.replace(unfinished, path)
