"""PyG's FeatureStore, GraphStore and BaseSampler over a DistGraph. PyG's own NodeLoader, NeighborLoader, LinkLoader and
LinkNeighborLoader load batches from them (docs/coming-from-pyg.md). Requires PyG.

    from espalier import pyg

    data = pyg.FeatureStore(g, {"x": "node-feat", "y": "node-label"}), pyg.GraphStore(g)
    loader = NodeLoader(data, pyg.NeighborSampler(g, [10, 10], seed=1), input_nodes=nodes, batch_size=64)

Unlike PyG's loaders, Espalier's own loaders sample and fetch ahead on threads of the library. `batch.to_data()` and
`batch.to_hetero_data()` convert their batches for the same models.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import torch
    import torch_geometric.data
    import torch_geometric.sampler
    from torch_geometric.data.graph_store import EdgeAttr, EdgeLayout
    from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample
except ImportError as error:
    raise ImportError("espalier.pyg needs PyG: pip install torch torch_geometric") from error

from espalier import _core
from espalier.block import MiniBatch
from espalier.conversions import PyGGraph, to_labels
from espalier.dataloading import BatchOrigin, sampling_settings
from espalier.dataloading import NeighborSampler as _OwnSampler
from espalier.errors import FailedPrecondition, InvalidArgument, NotFound, Unimplemented
from espalier.graph import DistGraph
from espalier.tensor import DistTensor
from espalier.types import OneCallAtATime, to_int

if TYPE_CHECKING:
    from torch_geometric.data.feature_store import TensorAttr
    from torch_geometric.sampler import (
        EdgeSamplerInput,
        HeteroSamplerOutput,
        NegativeSampling,
        NodeSamplerInput,
        NumNeighbors,
        SamplerOutput,
    )
    from torch_geometric.sampler.base import SubgraphType

_EDGES_AT_ONCE = 1 << 20  # edges per request for the endpoints of all edges


def _has_one_type(g):
    """Returns whether PyG treats the graph as homogeneous: attributes have no type names, and batches are Data."""
    return len(g.ntypes) == 1 and len(g.canonical_etypes) == 1


class FeatureStore(torch_geometric.data.FeatureStore):
    """The columns of a graph as PyG's features.

    columns: {attribute: column}, or {node type: {attribute: column}} for a graph with several types. Loaders fetch all
    of these columns for every batch. A canonical edge type may replace the node type; `get_tensor` then reads columns
    of edges, which PyG's loaders do not fetch. Reads return torch tensors. The attribute y is read as a label: integers
    become int64, and a column [n, 1] becomes [n].

    An attribute whose column is an attached DistTensor can be written, in single rows or as a whole. `put_tensor` of a
    new attribute creates and attaches a DistTensor. Other columns are read-only (Unimplemented). Any thread may use it.
    """

    def __init__(self, g: DistGraph, columns: Mapping[str, str] | Mapping[Any, dict[str, str]]) -> None:
        super().__init__()
        self.__dict__["_graph"] = g
        self.__dict__["_columns"] = {}  # {(group, attribute): column}
        if not any(isinstance(names, dict) for names in columns.values()):
            columns = {None: columns}
        for group, names in columns.items():
            for attribute, column in names.items():
                self._frame(group)[column]  # NotFound: there is none
                self._columns[group, attribute] = column

    def _frame(self, group):
        """Returns the columns of a node type, or of a canonical edge type. None: those of the only node type."""
        if isinstance(group, tuple):
            return self._graph.edges[group].data
        return self._graph._node_frames[self._graph._schema.node_type(group)]

    def _column(self, attr):
        key = attr.group_name, attr.attr_name
        if key not in self._columns:
            known = ", ".join(name if group is None else f"{group}.{name}" for group, name in self._columns)
            raise NotFound(f"there is no attribute {attr.attr_name!r} of {attr.group_name!r}; "
                           f"there are {known or 'none'}")
        return self._frame(attr.group_name)[self._columns[key]]

    @staticmethod
    def _rows(column, index):
        if index is None:
            return slice(None)
        if isinstance(index, int):
            return np.array([range(len(column))[index]])
        return index

    def _get_tensor(self, attr):
        column = self._column(attr)
        rows = torch.from_numpy(column[self._rows(column, attr.index)])
        rows = to_labels(rows) if attr.attr_name == "y" else rows
        return rows[0] if isinstance(attr.index, int) else rows

    def _get_tensor_size(self, attr):
        shape = self._column(attr).shape
        return shape[:1] if attr.attr_name == "y" and shape[1:] == (1,) else shape

    def get_all_tensor_attrs(self) -> "list[TensorAttr]":
        """Returns the attributes of nodes."""
        return [self._tensor_attr_cls(group, name) for group, name in self._columns if not isinstance(group, tuple)]

    def _put_tensor(self, tensor, attr):
        key, values = (attr.group_name, attr.attr_name), np.asarray(tensor)
        if key not in self._columns:
            if attr.index is not None:
                raise NotFound(f"there is no attribute {attr.attr_name!r}; give all rows (index=None) to create it")
            kind = {"etype" if isinstance(attr.group_name, tuple) else "ntype": attr.group_name}
            if attr.group_name is None:
                kind = {"ntype": self._graph.ntypes[0]}
            made = DistTensor.create(self._graph, values.shape[1:], values.dtype, **kind)
            made[:] = values
            self._frame(attr.group_name)[attr.attr_name] = made
            self._columns[key] = attr.attr_name
            return True
        column = self._column(attr)
        if not isinstance(column, DistTensor):
            raise Unimplemented(f"column {column.name!r} of the graph is read-only; a DistTensor that is attached as a "
                                "column can be written")
        column[self._rows(column, attr.index)] = values
        return True

    def _remove_tensor(self, attr):
        """Forgets the attribute, and detaches its DistTensor."""
        column = self._column(attr)
        name = self._columns.pop((attr.group_name, attr.attr_name))
        if isinstance(column, DistTensor):
            del self._frame(attr.group_name)[name]
        return True


class GraphStore(torch_geometric.data.GraphStore):
    """The edge types of a graph for PyG's loaders. The edges stay on the servers, where the sampler reads them.

    copy_edges: whether PyG may read all edges of a type, which are then copied and must fit into the memory of this
    process. A LinkLoader without `edge_label_index` reads them, and so does PyG's own NeighborSampler. They are
    returned as COO in the order of their ids. The store is read-only (Unimplemented).
    """

    def __init__(self, g: DistGraph, *, copy_edges: bool = False) -> None:
        super().__init__()
        self.__dict__["_graph"], self.__dict__["_copy_edges"] = g, copy_edges

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        g = self._graph
        return [EdgeAttr(None if _has_one_type(g) else names, EdgeLayout.COO, is_sorted=True,  # by destination
                         size=(g.num_nodes(names[0]), g.num_nodes(names[2]))) for names in g.canonical_etypes]

    def _get_edge_index(self, attr):
        if not self._copy_edges:
            raise FailedPrecondition(
                "PyG asks for all edges. Give its loader neighbor_sampler=espalier.pyg.NeighborSampler(g, ...), which "
                "samples where the edges are, and LinkLoader the seed edges; of a graph that fits into this process's "
                "memory, GraphStore(g, copy_edges=True) copies them")
        if attr.layout != EdgeLayout.COO:
            return None
        count = self._graph.num_edges(attr.edge_type) if attr.edge_type else self._graph.num_edges()
        ends = [self._graph.find_edges(np.arange(first, min(first + _EDGES_AT_ONCE, count)), attr.edge_type)
                for first in range(0, count, _EDGES_AT_ONCE)] or [(np.zeros(0, np.int64),) * 2]
        return tuple(torch.from_numpy(np.concatenate(parts)) for parts in zip(*ends))

    def _put_edge_index(self, edge_index, edge_attr):
        raise Unimplemented("the edges of a partitioned graph do not change; partition the graph with the edges added")

    def _remove_edge_index(self, edge_attr):
        raise Unimplemented("the edges of a partitioned graph do not change; partition the graph without the edges")


class NeighborSampler(torch_geometric.sampler.BaseSampler):
    """Samples in-edges on the graph servers for PyG's loaders, each node of a batch once. Counterpart of PyG's
    NeighborSampler.

    num_neighbors: as in PyG: a list with a number for each hop, that of the seeds first, -1 for all; or {edge type:
    list}, or NumNeighbors. replace: whether to sample with replacement. weight_attr: name of an edge column with
    weights. method: "Neighbor" or "Labor".

    Sampled edges depend only on the seed, the batch and the number of the call, not on the partitioning; `state_dict`
    has the number of calls. The negatives of LinkLoader are drawn as global ids, which depend on the partitioning.
    PyG's global random state is neither used nor changed. For one thread, and only for loaders with num_workers=0
    (FailedPrecondition).

    Unimplemented: subgraph_type "induced" or "bidirectional", disjoint, time_attr. InvalidArgument: the seeds of a
    batch repeat.
    """

    def __init__(self, g: DistGraph, num_neighbors: "list[int] | dict[Any, list[int]] | NumNeighbors", *,
                 replace: bool = False, weight_attr: str | None = None, seed: int = 0, method: str = "Neighbor",
                 subgraph_type: "str | SubgraphType" = "directional", disjoint: bool = False,
                 time_attr: str | None = None) -> None:
        subgraph_type = torch_geometric.sampler.base.SubgraphType(subgraph_type).value
        if subgraph_type == "bidirectional":
            raise Unimplemented("subgraph_type 'bidirectional': give the loader transform_sampler_output=lambda out: "
                                "out.to_bidirectional()")
        if subgraph_type != "directional":
            raise Unimplemented(f"subgraph_type {subgraph_type!r}: only the sampled edges are known to this process")
        if disjoint or time_attr is not None:
            raise Unimplemented("disjoint and temporal sampling: espalier.DistNodeDataLoader samples by time, with "
                                'NeighborSampler(..., expand="Once", time_column=, seed_time_column=)')
        self._graph, self._schema, self._seed = g, g._schema, to_int(seed, "seed")
        if not isinstance(num_neighbors, torch_geometric.sampler.NumNeighbors):
            num_neighbors = torch_geometric.sampler.NumNeighbors(num_neighbors)
        by_type = num_neighbors.get_values(g.canonical_etypes)
        layers = [{names: fanouts[hop] for names, fanouts in by_type.items()}
                  for hop in reversed(range(num_neighbors.num_hops))]
        sampler = _OwnSampler(layers, prob=weight_attr, replace=replace, edge_ids=True, expand="Once")
        sampler.method = method
        self._origin = BatchOrigin(sampler)
        self._core = _core.batch_sampler(g._core, sampling_settings(self._schema, sampler, seed))
        self._lock, self._calls = OneCallAtATime("sampler"), 0

    def state_dict(self) -> dict[str, int]:
        """Returns {"calls": number of sampled batches, "seed": seed}."""
        return {"calls": self._calls, "seed": self._seed}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continues with the batch that follows those in `state`. InvalidArgument: the state is of another seed."""
        if state["seed"] != self._seed:
            raise InvalidArgument(f"the state is of a sampler with seed {state['seed']}, not {self._seed}")
        self._calls = to_int(state["calls"], "calls")

    def sample_from_nodes(self, index: "NodeSamplerInput", **kwargs: Any) -> "SamplerOutput | HeteroSamplerOutput":
        self._begin(index.time)
        return node_sample(index, self._sample)

    def sample_from_edges(self, index: "EdgeSamplerInput", neg_sampling: "NegativeSampling | None" = None
                          ) -> "SamplerOutput | HeteroSamplerOutput":
        self._begin(index.time)
        counts = {name: self._graph.num_nodes(name) for name in self._graph.ntypes}
        num_nodes = counts if index.input_type is not None else self._graph.num_nodes()
        with torch.random.fork_rng(devices=[]):  # PyG draws negatives by torch's global generator
            key = np.random.SeedSequence([self._seed, self._calls]).generate_state(1, np.uint64)[0]
            torch.manual_seed(int(key >> np.uint64(1)))
            return edge_sample(index, self._sample, num_nodes, False, None, neg_sampling)

    @staticmethod
    def _begin(time):
        if torch.utils.data.get_worker_info() is not None:
            raise FailedPrecondition("the connections to graph servers do not survive the fork of a DataLoader's "
                                     "workers: num_workers=0; espalier.DistNodeDataLoader has threads (num_threads=)")
        if time is not None:
            raise Unimplemented("input_time and edge_label_time: espalier.DistNodeDataLoader samples by time")

    def _sample(self, seed, seed_time=None):
        schema = self._schema
        typed = isinstance(seed, dict)
        if not typed and not _has_one_type(self._graph):
            raise InvalidArgument(f"the graph has several types; give input_nodes=(node type, nodes), one of "
                                  f"{', '.join(schema.node_types)}, and edge_label_index=(edge type, edges)")
        seeds = schema.by_node_type(seed, "seeds")
        with self._lock:
            epoch, step = divmod(self._calls, 2**32)
            core = self._core.sample(seeds, epoch, step)
            self._calls += 1
        graph = PyGGraph(MiniBatch(schema, core, (), self._origin))
        nodes = [torch.from_numpy(of_type) for of_type in graph.nodes]
        edges = [[torch.from_numpy(array) for array in (of_type.sources, of_type.destinations, of_type.ids)]
                 for of_type in graph.edges]
        edge_counts = [of_type.counts for of_type in graph.edges]
        if not typed:
            return torch_geometric.sampler.SamplerOutput(nodes[0], *edges[0], num_sampled_nodes=graph.node_counts[0],
                                                         num_sampled_edges=edge_counts[0])
        return torch_geometric.sampler.HeteroSamplerOutput(
            dict(zip(schema.node_types, nodes)), *(dict(zip(schema.edge_types, arrays)) for arrays in zip(*edges)),
            num_sampled_nodes=dict(zip(schema.node_types, graph.node_counts)),
            num_sampled_edges=dict(zip(schema.edge_types, edge_counts)))
