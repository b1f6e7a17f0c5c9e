"""Initial values of parameters as in the C++ trainer: a pure function of the seed and the name of the parameter."""

import math
from typing import TYPE_CHECKING

import torch

from espalier import _core
from espalier.types import to_int

if TYPE_CHECKING:
    from espalier.nn.models import GraphModel

_RELU_GAIN = math.sqrt(2)  # torch's calculate_gain("relu")


def draw_first_values(model: "GraphModel", seed: int) -> None:
    """Sets the parameters of a new GraphModel to the initial values of a job whose spec.training.seed is `seed`."""
    seed = to_int(seed, "seed")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # In the trainer, the only neighborhood of a layer has the name of the layer.
            _draw(model, parameter, seed, name.replace(".neighborhood.", "."))


def _draw(model, parameter, seed, name):
    part = name.split(".")[-1]
    if part.endswith("bias"):
        parameter.zero_()
        return
    if name.startswith("epilogue"):  # scales of a normalization, which are ones
        return
    values = parameter.numpy()
    if part == "bases":
        for number, basis in enumerate(values):
            _fill_xavier(_core.fill_uniform, 6, basis, sum(basis.shape), _RELU_GAIN, seed, f"{name}.{number}")
    elif part in ("attn", "attn_src", "attn_dst"):
        heads, columns = values.shape  # the fans that torch computes for DGL's shape [1, heads, columns]
        _fill_xavier(_core.fill_normal, 2, values, heads * columns + columns, _RELU_GAIN, seed, name)
    elif ".fc" in name and model._draws_normal:
        _fill_xavier(_core.fill_normal, 2, values, sum(values.shape), _RELU_GAIN, seed, name)
    else:
        gain = 1 if name.startswith("input.") or name.endswith(".fc.weight") else _RELU_GAIN
        _fill_xavier(_core.fill_uniform, 6, values, sum(values.shape), gain, seed, name)


def _fill_xavier(fill, numerator, values, fans, gain, seed, name):
    # Glorot, Bengio 2010: a bound of sqrt(6 / fans), or a deviation of sqrt(2 / fans).
    fill(values, gain * math.sqrt(numerator / fans), seed, name)
