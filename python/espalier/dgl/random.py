"""dgl.random."""

from espalier.dgl._session import set_seed as seed

__all__ = ["seed"]
