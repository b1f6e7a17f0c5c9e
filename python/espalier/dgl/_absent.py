"""Errors, with alternatives, for names of DGL that espalier.dgl does not have."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

PAGE = "docs/coming-from-dgl.md"


def module_getattr(module: str, remedies: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns a `__getattr__` for a module. It raises AttributeError with the alternative, if there is one."""

    def of_module(name):
        if name in remedies:
            raise AttributeError(f"{module}.{name} is not supported: {remedies[name]}")
        raise AttributeError(f"{module} has no {name!r}; {PAGE} lists the supported names")

    return of_module


class Remedies:
    """Base of classes whose `_remedies` are {name of an attribute in DGL: alternative}."""

    _remedies = {}

    def __getattr__(self, name):
        if name in type(self)._remedies:
            raise AttributeError(f"{type(self).__name__}.{name} is not supported: {type(self)._remedies[name]}")
        raise AttributeError(f"{type(self).__name__!r} of espalier.dgl has no attribute {name!r}; {PAGE} lists the "
                             "supported names")


def refuse(what: str, remedy: str) -> NoReturn:
    raise NotImplementedError(f"{what} is not supported: {remedy}")
