"""Layers (dgl.nn.pytorch): those of espalier.nn."""

from espalier.dgl.nn import __getattr__
