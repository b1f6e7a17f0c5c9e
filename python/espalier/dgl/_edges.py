"""The forms and orders in which graphs return their edges: DGL's `edges(form, order, etype)`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from espalier.errors import InvalidArgument
from espalier.typing import EdgeType

if TYPE_CHECKING:
    import torch

_FORMS, _ORDERS = ("uv", "eid", "all"), ("eid", "srcdst")


def list_edges(ends_of: "Callable[[EdgeType | None], tuple[torch.Tensor, torch.Tensor]]", form: EdgeType | None,
               order: str, etype: EdgeType | None) -> Any:
    """Returns edges as DGL's `edges(form, order, etype)` does: int64 tensors [edges].

    ends_of(etype): (sources, destinations) of a type, in the order of the edges' numbers. form: "uv": (sources,
    destinations); "eid": the numbers of the edges, from 0; "all": (sources, destinations, numbers). Any other value is
    an edge type, which is the first argument of espalier's `edges`. order: "eid": by number; "srcdst": by source, then
    destination, then number.
    """
    if form not in _FORMS:
        if etype is not None:
            raise InvalidArgument(f"form {form!r} of edges; expected 'uv', 'eid' or 'all'")
        form, etype = "uv", form
    if order not in _ORDERS:
        raise InvalidArgument(f"order {order!r} of edges; expected 'eid' or 'srcdst'")
    sources, destinations = ends_of(etype)
    if form == "uv" and order == "eid":
        return sources, destinations
    import torch

    numbers = torch.arange(len(sources), device=sources.device)
    if order == "srcdst":
        numbers = torch.sort(destinations, stable=True).indices
        numbers = numbers[torch.sort(sources[numbers], stable=True).indices]
        sources, destinations = sources[numbers], destinations[numbers]
    return {"uv": (sources, destinations), "eid": numbers, "all": (sources, destinations, numbers)}[form]
