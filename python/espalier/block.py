"""Mini-batches and their blocks, as NumPy arrays, or as tensors on a device."""

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from espalier import arrays
from espalier.typing import EdgeType

if TYPE_CHECKING:
    import torch

NID = "_ID"  # name of the column of global node ids in srcdata and dstdata, as in DGL
EID = "_ID"  # name of the column of global edge ids in edata


class Block:
    """A bipartite graph: the in-edges that one layer of a model reads. Counterpart of DGL's blocks (message flow graphs).

    Destinations are also the first sources of their node type. Row numbers are int32 and ids are int64. In a graph with
    several types, functions take the name of a type; the name may be omitted if there is only one. Arrays are NumPy
    arrays, or tensors in a block that `to` or `pin_memory` returned.
    """

    _arrays = arrays  # the module of functions for these arrays

    def __init__(self, schema, relations, num_src, num_dst, src_nodes):
        self._schema = schema
        self._nodes = src_nodes  # by node type; the sources of this block are the first of them
        self._relations = relations  # {number of an edge type: (indptr, indices, edge ids)}
        self._num_src, self._num_dst = num_src, num_dst  # by node type
        self.srcdata = _NodeData(schema, [{NID: nodes[:count]} for nodes, count in zip(src_nodes, num_src)])
        self.dstdata = _NodeData(schema, [{NID: nodes[:count]} for nodes, count in zip(src_nodes, num_dst)])

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        return [self._schema.edge_types[number] for number in sorted(self._relations)]

    def num_src_nodes(self, ntype: str | None = None) -> int:
        return self._num_src[self._schema.node_type(ntype)]

    def num_dst_nodes(self, ntype: str | None = None) -> int:
        return self._num_dst[self._schema.node_type(ntype)]

    def num_edges(self, etype: EdgeType | None = None) -> int:
        return len(self.csc(etype)[1])

    def size(self, etype: EdgeType | None = None) -> tuple[int, int]:
        """Returns (number of sources, number of destinations) of an edge type: PyG's `size`."""
        number = self._schema.edge_type(etype)
        return self._num_src[self._schema.source_of(number)], self._num_dst[self._schema.destination_of(number)]

    def csc(self, etype: EdgeType | None = None) -> tuple[Any, Any]:
        """Returns (indptr [destinations + 1], indices [edges]): the sources of destination i are
        indices[indptr[i]:indptr[i + 1]]."""
        return self._relation(etype)[:2]

    def _relation(self, etype):
        number = self._schema.edge_type(etype)
        if number in self._relations:
            return self._relations[number]
        destinations = self._num_dst[self._schema.destination_of(number)]  # of a type that was not sampled
        return tuple(self._arrays.zeros(count, dtype, self._nodes[0])
                     for count, dtype in ((destinations + 1, "int32"), (0, "int32"), (0, "int64")))

    def edges(self, etype: EdgeType | None = None) -> tuple[Any, Any]:
        """Returns (sources, destinations) as row numbers, int64 [edges] each."""
        indptr, indices = self.csc(etype)
        rows = self._arrays.count_up(len(indptr) - 1, self._nodes[0])
        destinations = self._arrays.repeat_rows(rows, self._arrays.differences(indptr), len(indices))
        return self._arrays.to_int64(indices), destinations

    def edge_index(self, etype: EdgeType | None = None) -> Any:
        """Returns int64 [2, edges], sources first: PyG's edge_index."""
        return self._arrays.stack(self.edges(etype))

    def edge_index_dict(self) -> dict[tuple[str, str, str], Any]:
        """Returns {canonical edge type: edge_index} of the sampled edge types, the format of PyG's HeteroConv."""
        return {names: self.edge_index(names) for names in self.canonical_etypes}

    def bipartite(self, x: Any) -> Any:
        """Returns the inputs of PyG's convolutions on this block, as separate rows of sources and destinations.

        x: rows of the sources, [num_src_nodes, ...], or {node type: rows}. For rows, returns (x, rows of the
        destinations). For a dict, returns {canonical edge type: (rows of the sources, rows of the destinations)},
        HeteroConv's `x_dict`, for the sampled edge types between types that are in x.
        """
        if not isinstance(x, dict):
            return x, x[:self._num_dst[self._schema.node_type()]]
        return {names: (x[names[0]], x[names[2]][:self.num_dst_nodes(names[2])])
                for names in self.canonical_etypes if names[0] in x and names[2] in x}

    def to(self, device: "str | torch.device", *, non_blocking: bool = False) -> "Block":
        """Returns this block and its columns as tensors on `device`, a name or a torch.device. Tensors on "cpu" share
        the memory of the arrays. Counterpart of DGL's `block.to`. ImportError: PyTorch is not installed."""
        from espalier import torch_arrays

        return self._moved(torch_arrays.mover(device, non_blocking))

    def pin_memory(self) -> "Block":
        """Returns this block and its columns as tensors in pinned memory, from which `to(device, non_blocking=True)`
        copies without waiting. InvalidArgument: there is no GPU."""
        from espalier import torch_arrays

        return self._moved(torch_arrays.pin)

    def _moved(self, move, nodes=None):
        """Returns this block with all arrays converted by `move`. nodes: the sources by node type if they are already
        converted."""
        from espalier import torch_arrays

        nodes = [move(of_type) for of_type in self._nodes] if nodes is None else nodes
        relations = {number: tuple(move(array) for array in relation) for number, relation in self._relations.items()}
        moved = Block(self._schema, relations, self._num_src, self._num_dst, nodes)
        moved._arrays = torch_arrays
        moved.srcdata._take(self.srcdata, move)
        moved.dstdata._take(self.dstdata, move)
        return moved

    def to_dgl(self) -> Any:
        """Returns this block as a DGL block, with its columns. ImportError: DGL is not installed."""
        from espalier import conversions

        return conversions.to_dgl(self)

    def edge_ids(self, etype: EdgeType | None = None) -> Any:
        """Returns the global ids of the edges, int64 [edges], or an empty array unless the sampler has
        `edge_ids=True`."""
        return self._relation(etype)[2]

    @property
    def edata(self) -> dict[str, Any]:
        """{EID: global ids of the edges}, or {EID: {canonical edge type: ids}} if there are several edge types."""
        if len(self._schema.edge_types) == 1:
            return {EID: self.edge_ids()}
        return {EID: {names: self.edge_ids(names) for names in self.canonical_etypes}}

    def __repr__(self) -> str:
        names = self._schema.node_types
        return (f"Block(src={dict(zip(names, self._num_src))}, dst={dict(zip(names, self._num_dst))}, "
                f"edges={ {':'.join(self._schema.edge_types[n]): len(r[1]) for n, r in self._relations.items()} })")


class _NodeData:
    """Columns of a block's nodes: `block.srcdata["feat"]`, or `block.srcdata["feat"]["paper"]` with several node
    types."""

    def __init__(self, schema, by_type):
        self._schema, self._by_type = schema, by_type

    def __getitem__(self, name) -> Any:
        if len(self._by_type) == 1:
            return self._by_type[0][name]
        found = {self._schema.node_types[number]: columns[name]
                 for number, columns in enumerate(self._by_type) if name in columns}
        if not found:
            raise KeyError(name)
        return found

    def __setitem__(self, name, values) -> None:
        if not isinstance(values, dict):
            values = {None: values}
        for ntype, rows in values.items():
            self._by_type[self._schema.node_type(ntype)][name] = rows

    def _take(self, others, move):
        """Adds the columns of `others`, converted by `move`, except for the ids, which this object already has."""
        for columns, found in zip(self._by_type, others._by_type):
            columns.update((name, move(rows)) for name, rows in found.items() if name not in columns)

    def __contains__(self, name) -> bool:
        return any(name in columns for columns in self._by_type)

    def keys(self) -> list[str]:
        return sorted({name for columns in self._by_type for name in columns})

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())


class LinkBatch:
    """The seed edges of a mini-batch, and their negatives. Endpoints are row numbers of the destinations of the last
    block. With several node types, the rows of all types are numbered consecutively, in the order of
    `DistGraph.ntypes`."""

    _arrays = arrays  # the module of functions for these arrays

    def __init__(self, links):
        self.sources = links["sources"]  # int32 [edges]
        self.destinations = links["destinations"]  # int32 [edges]
        self.relations = links["relations"]  # int32 [edges], positions among the loader's edge types
        self.edge_ids = links["edge_ids"]  # int64 [edges], or empty
        self.columns = links["rows"]  # {name: [edges, ...]} of the loader's edge_columns
        self.negatives_per_edge = links["negatives_per_pair"]
        self._sets = links

    def negatives(self) -> tuple[Any, Any, Any]:
        """Returns (sources, destinations, valid), [edges, negatives per edge] each: the negatives of each edge. valid
        is False for a sampled pair that is an edge of the batch."""
        count, edges = self.negatives_per_edge, len(self.sources)
        destinations = self._sets["negative_destinations"].reshape(-1 if count else edges, count)
        if len(destinations) != edges:  # edges of a set share its negatives
            sizes = self._arrays.differences(self._arrays.behind_zero(self._sets["set_ends"]))
            destinations = self._arrays.repeat_rows(destinations, sizes, edges)
        sources = self._sets["negative_sources"]
        if not len(sources):
            counts = self._arrays.zeros(edges, "int32", self.sources) + count
            sources = self._arrays.repeat_rows(self.sources, counts, edges * count)
        valid = self._arrays.to_bool(self._sets["negative_weights"])
        return sources.reshape(edges, count), destinations, valid.reshape(edges, count)

    def _moved(self, move):
        from espalier import torch_arrays

        links = {name: value if isinstance(value, (int, dict)) else move(value) for name, value in self._sets.items()}
        links["rows"] = {name: move(rows) for name, rows in self.columns.items()}
        moved = LinkBatch(links)
        moved._arrays = torch_arrays
        return moved


class MiniBatch:
    """A sampled mini-batch. It is a function of the graph, the sampler, the seeds, the loader's seed, the epoch, the
    step and the rank, for any partitions, servers, threads and sampler processes. The C++ trainer samples the same
    mini-batch.

    Its arrays are views of one block of memory, which is freed with the last of them. A change of input_nodes,
    output_nodes or the ids of a block's nodes therefore changes the others too.
    """

    def __init__(self, schema, core, fetches, origin=None):
        self._schema, self._core, self._fetches = schema, core, fetches
        self._origin = origin  # BatchOrigin, for conversions
        self._blocks = self._links = self._moved_nodes = None

    @property
    def epoch(self) -> int:
        return self._core.epoch

    @property
    def step(self) -> int:
        return self._core.step

    @property
    def num_seeds(self) -> int:
        """Number of seed nodes or seed edges of this rank. It is 0 if the rank has no share of the batch."""
        return self._core.num_seeds if self.links is None else len(self.links.sources)

    @property
    def global_num_seeds(self) -> int:
        """Number of seeds of all ranks in this step. If the loader was given a list of this rank's seeds, only those of
        this rank."""
        return self._core.global_num_seeds

    def _nodes(self, number):
        return self._core.nodes(number) if self._moved_nodes is None else self._moved_nodes[number]

    def _host_inputs(self) -> dict[str, np.ndarray]:
        """Returns {node type: global ids of the nodes that the first block reads} as arrays, also for a batch that `to`
        has moved, without copying ids back from a device."""
        counts = (self._core.num_inputs(0) if self._core.num_layers else
                  [len(self._core.nodes(number)) for number in range(len(self._schema.node_types))])
        return {name: self._core.nodes(number)[:count]
                for number, (name, count) in enumerate(zip(self._schema.node_types, counts))}

    def _like_nodes(self, array: np.ndarray) -> Any:
        """Returns `array` in the form of this batch's ids: as an array, or as a tensor on the batch's device."""
        if self._moved_nodes is None:
            return array
        from espalier import torch_arrays

        return torch_arrays.to_tensor(array).to(self._moved_nodes[0].device)

    def _by_type(self, counts):
        arrays = [self._nodes(number)[:count] for number, count in enumerate(counts)]
        if len(arrays) == 1:
            return arrays[0]
        return dict(zip(self._schema.node_types, arrays))

    @property
    def input_nodes(self) -> Any:
        """Global ids of the nodes whose features the first block reads: int64 [n], or {node type: ids} of all types if
        there are several."""
        if self._core.num_layers == 0:
            return self.output_nodes
        return self._by_type(self._core.num_inputs(0))

    @property
    def output_nodes(self) -> Any:
        """Global ids of the nodes that the last block computes: the seed nodes, or the endpoints of the seed edges."""
        layers = self._core.num_layers
        counts = (self._core.num_outputs(layers - 1) if layers else
                  [len(self._nodes(number)) for number in range(len(self._schema.node_types))])
        return self._by_type(counts)

    @property
    def links(self) -> LinkBatch | None:
        """The seed edges (LinkBatch) of a batch of an edge loader; None in a batch of a node loader."""
        if self._links is None and self._core.has_links:
            self._links = LinkBatch(self._core.links())
        return self._links

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the model's layers, first layer first. `blocks[0].srcdata` has the sampler's
        `prefetch_node_feats`, and `blocks[-1].dstdata` has its `prefetch_labels`."""
        if self._blocks is None:
            nodes = [self._nodes(number) for number in range(len(self._schema.node_types))]
            self._blocks = []
            for layer in range(self._core.num_layers):
                relations = {number: arrays for number, *arrays in self._core.blocks(layer)}
                self._blocks.append(Block(self._schema, relations, self._core.num_inputs(layer),
                                          self._core.num_outputs(layer), nodes))
            for number, (ntype, column, of_seeds) in enumerate(self._fetches):
                data = self._blocks[-1].dstdata if of_seeds else self._blocks[0].srcdata
                data[column] = {self._schema.node_types[ntype]: self._core.rows(number)}
        return self._blocks

    def to(self, device: "str | torch.device", *, non_blocking: bool = False) -> "MiniBatch":
        """Returns this batch, with its ids, blocks, columns and links, as tensors on `device`, a name or a
        torch.device. Tensors on "cpu" share the memory of the arrays. ImportError: PyTorch is not installed."""
        from espalier import torch_arrays

        return self._moved(torch_arrays.mover(device, non_blocking))

    def pin_memory(self) -> "MiniBatch":
        """Returns this batch as tensors in pinned memory, from which `to(device, non_blocking=True)` copies without
        waiting.
        InvalidArgument: there is no GPU."""
        from espalier import torch_arrays

        return self._moved(torch_arrays.pin)

    def _moved(self, move):
        moved = copy.copy(self)
        moved._moved_nodes = [move(self._nodes(number)) for number in range(len(self._schema.node_types))]
        moved._blocks = [block._moved(move, moved._moved_nodes) for block in self.blocks]
        moved._links = None if self.links is None else self.links._moved(move)
        return moved

    def to_data(self, x: str | None = None, y: str | None = None) -> Any:
        """Returns this batch as the torch_geometric.data.Data that PyG's NeighborLoader would yield. Only for a graph
        with one node type and one edge type.

        Its attributes are n_id, edge_index, e_id (with the sampler's `edge_ids=True`), num_sampled_nodes and
        num_sampled_edges. Seed nodes add batch_size and input_id, the positions of the seeds in the loader's nodes or,
        for a NodesOfSplit, their ids. Seed edges add edge_label_index, edge_label and, if the batch has
        `links.edge_ids`, input_id; positives with label 1 come before negatives with label 0. The fetched columns named
        by the arguments become the attributes x and y; other fetched columns keep their names. An integer y is int64,
        and a column [n, 1] becomes y [n]. If y was fetched as a label, it has only the rows of the seeds.

        InvalidArgument: the sampler has expand="Always" and two or more layers. NotFound: x or y was not fetched.
        ImportError: PyG is not installed.
        """
        from espalier import conversions

        return conversions.to_data(self, x, y)

    def to_hetero_data(self, x: str | Mapping[str, str] | None = None, y: str | Mapping[str, str] | None = None) -> Any:
        """Returns this batch as a torch_geometric.data.HeteroData with all node and edge types of the graph. Attributes
        and errors are those of `to_data`. x, y: the name of a column, for all node types that have it, or {node type:
        name}."""
        from espalier import conversions

        return conversions.to_hetero_data(self, x, y)

    def to_dgl(self) -> tuple[Any, Any, Any]:
        """Returns (input_nodes, output_nodes, blocks) as tensors and DGL blocks, with the fetched columns. ImportError:
        DGL is not installed."""
        from espalier import conversions

        moved = self.to("cpu")
        return moved.input_nodes, moved.output_nodes, [conversions.to_dgl(block) for block in moved.blocks]

    def __iter__(self) -> Iterator[Any]:
        """Iterates over input_nodes, output_nodes and blocks, so that a batch unpacks like a batch of DGL's node
        loaders."""
        return iter((self.input_nodes, self.output_nodes, self.blocks))

    def __repr__(self) -> str:
        return f"MiniBatch(epoch={self.epoch}, step={self.step}, num_seeds={self.num_seeds})"
