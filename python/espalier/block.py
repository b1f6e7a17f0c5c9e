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
EID = "_ID"  # and of global edge ids in edata


class Block:
    """A bipartite graph: the in-edges that one layer of a model reads. Counterpart of DGL's blocks (message flow graphs).

    Rows of destinations are the first rows of the sources of their type. Arrays of rows are int32, ids int64. With
    several types, functions take the name of one; without a name they mean the only one. Arrays are NumPy's, and of a
    block that `to` or `pin_memory` has made, tensors.
    """

    _arrays = arrays  # the module for what they are

    def __init__(self, schema, relations, num_src, num_dst, src_nodes):
        self._schema = schema
        self._nodes = src_nodes  # by node type; a block has the first of them
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
        """Returns the numbers of rows that edges of a type join, (sources, destinations): PyG's `size`."""
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
        """Returns (sources, destinations), int64 [edges] each, as rows."""
        indptr, indices = self.csc(etype)
        rows = self._arrays.count_up(len(indptr) - 1, self._nodes[0])
        destinations = self._arrays.repeat_rows(rows, self._arrays.differences(indptr), len(indices))
        return self._arrays.to_int64(indices), destinations

    def edge_index(self, etype: EdgeType | None = None) -> Any:
        """Returns int64 [2, edges], sources first: PyG's edge_index."""
        return self._arrays.stack(self.edges(etype))

    def edge_index_dict(self) -> dict[tuple[str, str, str], Any]:
        """Returns {canonical edge type: edge_index} of the sampled edge types, as PyG's HeteroConv takes it."""
        return {names: self.edge_index(names) for names in self.canonical_etypes}

    def bipartite(self, x: Any) -> Any:
        """Returns the inputs of PyG's convolutions on this block, whose sources and destinations are other rows.

        x: rows of the sources, [num_src_nodes, ...]: then the result is (x, the rows of the destinations); or {node
        type: rows}: then {canonical edge type: (rows of the sources, of the destinations)}, which HeteroConv takes as
        `x_dict`, of the sampled edge types between types that x has.
        """
        if not isinstance(x, dict):
            return x, x[:self._num_dst[self._schema.node_type()]]
        return {names: (x[names[0]], x[names[2]][:self.num_dst_nodes(names[2])])
                for names in self.canonical_etypes if names[0] in x and names[2] in x}

    def to(self, device: "str | torch.device", *, non_blocking: bool = False) -> "Block":
        """Returns this block, its columns included, as tensors on `device`, a name or a torch.device. On "cpu" they
        share the memory of the arrays. Counterpart of DGL's `block.to`. ImportError: there is no PyTorch."""
        from espalier import torch_arrays

        return self._moved(torch_arrays.mover(device, non_blocking))

    def pin_memory(self) -> "Block":
        """Returns this block, its columns included, as tensors in pinned memory, which `to(device, non_blocking=True)`
        copies without waiting. InvalidArgument: there is no GPU."""
        from espalier import torch_arrays

        return self._moved(torch_arrays.pin)

    def _moved(self, move, nodes=None):
        """move: the function of an array, nodes: the sources by node type if they have been moved already."""
        from espalier import torch_arrays

        nodes = [move(of_type) for of_type in self._nodes] if nodes is None else nodes
        relations = {number: tuple(move(array) for array in relation) for number, relation in self._relations.items()}
        moved = Block(self._schema, relations, self._num_src, self._num_dst, nodes)
        moved._arrays = torch_arrays
        moved.srcdata._take(self.srcdata, move)
        moved.dstdata._take(self.dstdata, move)
        return moved

    def to_dgl(self) -> Any:
        """Returns this block as a block of DGL's, with its columns. ImportError: there is no DGL."""
        from espalier import conversions

        return conversions.to_dgl(self)

    def edge_ids(self, etype: EdgeType | None = None) -> Any:
        """Returns the global ids of the edges: int64 [edges]; empty unless the sampler has `edge_ids=True`."""
        return self._relation(etype)[2]

    @property
    def edata(self) -> dict[str, Any]:
        """{EID: global ids of the edges}; of several edge types {EID: {canonical edge type: ids}}."""
        if len(self._schema.edge_types) == 1:
            return {EID: self.edge_ids()}
        return {EID: {names: self.edge_ids(names) for names in self.canonical_etypes}}

    def __repr__(self) -> str:
        names = self._schema.node_types
        return (f"Block(src={dict(zip(names, self._num_src))}, dst={dict(zip(names, self._num_dst))}, "
                f"edges={ {':'.join(self._schema.edge_types[n]): len(r[1]) for n, r in self._relations.items()} })")


class _NodeData:
    """Columns of a block's nodes: `block.srcdata["feat"]`, and of several types `block.srcdata["feat"]["paper"]`."""

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
        """Adds the columns of `others`, moved, except for the ids, which are here already."""
        for columns, found in zip(self._by_type, others._by_type):
            columns.update((name, move(rows)) for name, rows in found.items() if name not in columns)

    def __contains__(self, name) -> bool:
        return any(name in columns for columns in self._by_type)

    def keys(self) -> list[str]:
        return sorted({name for columns in self._by_type for name in columns})

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())


class LinkBatch:
    """The seed edges of a mini-batch, and their negatives. Ends are rows among the seed nodes of the last block (of
    several node types: those of all types one type after the other, in the order of `DistGraph.ntypes`)."""

    _arrays = arrays  # the module for what the arrays are

    def __init__(self, links):
        self.sources = links["sources"]  # int32 [edges]
        self.destinations = links["destinations"]  # int32 [edges]
        self.relations = links["relations"]  # int32 [edges], positions among the loader's edge types
        self.edge_ids = links["edge_ids"]  # int64 [edges], or empty
        self.columns = links["rows"]  # {name: [edges, ...]} of the loader's edge_columns
        self.negatives_per_edge = links["negatives_per_pair"]
        self._sets = links

    def negatives(self) -> tuple[Any, Any, Any]:
        """Returns (sources, destinations, valid), [edges, negatives per edge] each, for negatives of single edges.
        valid: False where a drawn pair is an edge of the batch."""
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
    """A sampled mini-batch. The same for the same (seeds, loader's seed, epoch, step, rank), whatever the partitions,
    servers, threads and samplers, and the one that the C++ trainer has.

    Its arrays are views of one memory, which lives as long as any of them: input_nodes, output_nodes and the ids of the
    blocks' nodes change together.
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
        """Number of seeds of this rank, nodes or edges. 0 is possible: a rank may have no share of a batch."""
        return self._core.num_seeds if self.links is None else len(self.links.sources)

    @property
    def global_num_seeds(self) -> int:
        """Number of seeds of all ranks in this step (with a list of this rank's seeds: of this rank)."""
        return self._core.global_num_seeds

    def _nodes(self, number):
        return self._core.nodes(number) if self._moved_nodes is None else self._moved_nodes[number]

    def _host_inputs(self) -> dict[str, np.ndarray]:
        """Returns {node type: global ids of the nodes that the first block reads} as arrays, also of a batch that `to`
        has moved: no ids are copied back from a device."""
        counts = (self._core.num_inputs(0) if self._core.num_layers else
                  [len(self._core.nodes(number)) for number in range(len(self._schema.node_types))])
        return {name: self._core.nodes(number)[:count]
                for number, (name, count) in enumerate(zip(self._schema.node_types, counts))}

    def _like_nodes(self, array: np.ndarray) -> Any:
        """Returns `array` as this batch has its ids: an array, or a tensor on the device of the batch."""
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
        """Global ids of the nodes whose features the first block reads: int64 [n], or {type: ids} with every type."""
        if self._core.num_layers == 0:
            return self.output_nodes
        return self._by_type(self._core.num_inputs(0))

    @property
    def output_nodes(self) -> Any:
        """Global ids of the nodes that the last block computes: the seeds, or the ends of seed edges."""
        layers = self._core.num_layers
        counts = (self._core.num_outputs(layers - 1) if layers else
                  [len(self._nodes(number)) for number in range(len(self._schema.node_types))])
        return self._by_type(counts)

    @property
    def links(self) -> LinkBatch | None:
        """The seed edges (LinkBatch) of an edge loader's batch; None of a node loader's."""
        if self._links is None and self._core.has_links:
            self._links = LinkBatch(self._core.links())
        return self._links

    @property
    def blocks(self) -> list[Block]:
        """One block for each layer of a model, the first layer first. The first one's `srcdata` has the sampler's
        `prefetch_node_feats`, the last one's `dstdata` its `prefetch_labels`."""
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
        """Returns this batch, its ids, blocks, columns and links, as tensors on `device`, a name or a torch.device. On
        "cpu" they share the memory of the arrays. ImportError: there is no PyTorch."""
        from espalier import torch_arrays

        return self._moved(torch_arrays.mover(device, non_blocking))

    def pin_memory(self) -> "MiniBatch":
        """Returns this batch as tensors in pinned memory, which `to(device, non_blocking=True)` copies without waiting.
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
        """Returns this batch as a torch_geometric.data.Data, as PyG's NeighborLoader gives it, of a graph with one node
        and one edge type.

        Its attributes are n_id, edge_index, e_id (with the sampler's `edge_ids=True`), num_sampled_nodes,
        num_sampled_edges, and of seed nodes batch_size and input_id (the positions of the seeds in the loader's nodes;
        of a NodesOfSplit their ids), of seed edges edge_label_index, edge_label and input_id (`links.edge_ids`,
        where there are any): positives with label 1 before negatives with label 0. Fetched columns keep their names,
        but for the ones that are to be x and y. y of integers is int64, and [n] where the column is [n, 1]; it has rows
        of the seeds alone where it was fetched as a label.

        InvalidArgument: the sampler expands nodes anew in every layer (expand="Always", with two layers or more).
        NotFound: x or y was not fetched. ImportError: there is no PyG.
        """
        from espalier import conversions

        return conversions.to_data(self, x, y)

    def to_hetero_data(self, x: str | Mapping[str, str] | None = None, y: str | Mapping[str, str] | None = None) -> Any:
        """Returns this batch as a torch_geometric.data.HeteroData with all node and edge types of the graph. As
        `to_data`; x and y: names of columns, of the types that have them, or {node type: name}."""
        from espalier import conversions

        return conversions.to_hetero_data(self, x, y)

    def to_dgl(self) -> tuple[Any, Any, Any]:
        """Returns (input_nodes, output_nodes, blocks) as tensors and blocks of DGL's, with the fetched columns.
        ImportError: there is no DGL."""
        from espalier import conversions

        moved = self.to("cpu")
        return moved.input_nodes, moved.output_nodes, [conversions.to_dgl(block) for block in moved.blocks]

    def __iter__(self) -> Iterator[Any]:
        """`input_nodes, output_nodes, blocks = batch`, as DGL's loaders of nodes give it."""
        return iter((self.input_nodes, self.output_nodes, self.blocks))

    def __repr__(self) -> str:
        return f"MiniBatch(epoch={self.epoch}, step={self.step}, num_seeds={self.num_seeds})"
