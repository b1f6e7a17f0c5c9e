"""Layers (dgl.nn): those of espalier.nn with the same names."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        from espalier import nn
    except ImportError as error:
        raise ImportError(f"espalier.dgl.nn.{name} is a layer of espalier.nn, which this installation lacks") from error
    return getattr(nn, name)
