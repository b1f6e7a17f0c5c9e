"""Types of arguments, for type annotations in programs that call this package."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias


class SupportsArray(Protocol):
    """A NumPy array, a CPU tensor of torch, a DistTensor or a Column."""

    def __array__(self) -> Any: ...


Path: TypeAlias = str | os.PathLike[str]
"""A path, or a URI where the function says so."""

EdgeType: TypeAlias = str | tuple[str, str, str]
"""(source type, relation, destination type), "source:relation:destination", or the relation where it is unique."""

Ids: TypeAlias = SupportsArray | Sequence[int] | int
"""Integers [n], or one."""

NodeIds: TypeAlias = Ids | Mapping[str, Ids]
"""Ids of nodes; for a graph with several node types: {node type: ids}."""

EdgeIds: TypeAlias = Ids | Mapping[Any, Ids]
"""Ids of edges; for a graph with several edge types: {edge type: ids}."""

Values: TypeAlias = SupportsArray | Sequence[Any] | float
"""Numbers of any shape."""

Columns: TypeAlias = str | Iterable[str] | Mapping[str, str | Iterable[str]]
"""Names of columns; for a graph with several node types: {node type: names}."""


class Stateful(Protocol):
    """A loader, a torch module or a torch optimizer."""

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state: Any, /) -> Any: ...
