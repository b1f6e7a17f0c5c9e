"""Mini-batches and their blocks, as NumPy arrays."""

import numpy as np

NID = "_ID"  # name of the column of global node ids in srcdata and dstdata, as in DGL
EID = "_ID"  # and of global edge ids in edata


class Block:
    """A bipartite graph: the in-edges that one layer of a model reads. Counterpart of DGL's blocks (message flow graphs).

    Rows of destinations are the first rows of the sources of their type. Arrays of rows are int32, ids int64. With
    several types, functions take the name of one; without a name they mean the only one.
    """

    def __init__(self, schema, relations, num_src, num_dst, src_nodes):
        self._schema = schema
        self._relations = relations  # {number of an edge type: (indptr, indices, edge ids)}
        self._num_src, self._num_dst = num_src, num_dst  # by node type
        self.srcdata = _NodeData(schema, [{NID: nodes[:count]} for nodes, count in zip(src_nodes, num_src)])
        self.dstdata = _NodeData(schema, [{NID: nodes[:count]} for nodes, count in zip(src_nodes, num_dst)])

    @property
    def canonical_etypes(self):
        return [self._schema.edge_types[number] for number in sorted(self._relations)]

    def num_src_nodes(self, ntype=None):
        return self._num_src[self._schema.node_type(ntype)]

    def num_dst_nodes(self, ntype=None):
        return self._num_dst[self._schema.node_type(ntype)]

    def num_edges(self, etype=None):
        return len(self.csc(etype)[1])

    def csc(self, etype=None):
        """Returns (indptr [destinations + 1], indices [edges]): the sources of destination i are
        indices[indptr[i]:indptr[i + 1]]."""
        return self._relation(etype)[:2]

    def _relation(self, etype):
        number = self._schema.edge_type(etype)
        if number in self._relations:
            return self._relations[number]
        destinations = self._num_dst[self._schema.destination_of(number)]  # of a type that was not sampled
        return np.zeros(destinations + 1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64)

    def edges(self, etype=None):
        """Returns (sources, destinations), int64 [edges] each, as rows."""
        indptr, indices = self.csc(etype)
        destinations = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
        return indices.astype(np.int64), destinations

    def edge_index(self, etype=None):
        """Returns int64 [2, edges], sources first: PyG's edge_index."""
        return np.stack(self.edges(etype))

    def edge_ids(self, etype=None):
        """Returns the global ids of the edges: int64 [edges]; empty unless the sampler has `edge_ids=True`."""
        return self._relation(etype)[2]

    @property
    def edata(self):
        """{EID: global ids of the edges}; of several edge types {EID: {canonical edge type: ids}}."""
        if len(self._schema.edge_types) == 1:
            return {EID: self.edge_ids()}
        return {EID: {names: self.edge_ids(names) for names in self.canonical_etypes}}

    def __repr__(self):
        names = self._schema.node_types
        return (f"Block(src={dict(zip(names, self._num_src))}, dst={dict(zip(names, self._num_dst))}, "
                f"edges={ {':'.join(self._schema.edge_types[n]): len(r[1]) for n, r in self._relations.items()} })")


class _NodeData:
    """Columns of a block's nodes: `block.srcdata["feat"]`, and of several types `block.srcdata["feat"]["paper"]`."""

    def __init__(self, schema, by_type):
        self._schema, self._by_type = schema, by_type

    def __getitem__(self, name):
        if len(self._by_type) == 1:
            return self._by_type[0][name]
        found = {self._schema.node_types[number]: columns[name]
                 for number, columns in enumerate(self._by_type) if name in columns}
        if not found:
            raise KeyError(name)
        return found

    def __setitem__(self, name, values):
        if not isinstance(values, dict):
            values = {None: values}
        for ntype, rows in values.items():
            self._by_type[self._schema.node_type(ntype)][name] = rows

    def __contains__(self, name):
        return any(name in columns for columns in self._by_type)

    def keys(self):
        return sorted({name for columns in self._by_type for name in columns})

    def __iter__(self):
        return iter(self.keys())


class LinkBatch:
    """The seed edges of a mini-batch, and their negatives. Ends are rows among the seed nodes of the last block (of
    several node types: those of all types one type after the other, in the order of `DistGraph.ntypes`)."""

    def __init__(self, links):
        self.sources = links["sources"]  # int32 [edges]
        self.destinations = links["destinations"]  # int32 [edges]
        self.relations = links["relations"]  # int32 [edges], positions among the loader's edge types
        self.edge_ids = links["edge_ids"]  # int64 [edges], or empty
        self.columns = links["rows"]  # {name: [edges, ...]} of the loader's edge_columns
        self.negatives_per_edge = links["negatives_per_pair"]
        self._sets = links

    def negatives(self):
        """Returns (sources, destinations, valid), [edges, negatives per edge] each, for negatives of single edges.
        valid: False where a drawn pair is an edge of the batch."""
        count, edges = self.negatives_per_edge, len(self.sources)
        destinations = self._sets["negative_destinations"].reshape(-1 if count else edges, count)
        if len(destinations) != edges:  # edges of a set share its negatives
            sizes = np.diff(np.concatenate(([0], self._sets["set_ends"])))
            destinations = np.repeat(destinations, sizes, axis=0)
        sources = self._sets["negative_sources"]
        sources = sources.reshape(edges, count) if len(sources) else np.repeat(self.sources[:, None], count, axis=1)
        return sources, destinations, self._sets["negative_weights"].reshape(edges, count).astype(bool)


class MiniBatch:
    """A sampled mini-batch. The same for the same (seeds, loader's seed, epoch, step, rank), whatever the partitions,
    servers, threads and samplers, and the one that the C++ trainer has.

    Its arrays are views of one memory, which lives as long as any of them: input_nodes, output_nodes and the ids of the
    blocks' nodes change together.
    """

    def __init__(self, schema, core, fetches):
        self._schema, self._core, self._fetches = schema, core, fetches
        self._blocks = self._links = None

    @property
    def epoch(self):
        return self._core.epoch

    @property
    def step(self):
        return self._core.step

    @property
    def num_seeds(self):
        """Number of seeds of this rank, nodes or edges. 0 is possible: a rank may have no share of a batch."""
        return self._core.num_seeds if self.links is None else len(self.links.sources)

    @property
    def global_num_seeds(self):
        """Number of seeds of all ranks in this step (with a list of this rank's seeds: of this rank)."""
        return self._core.global_num_seeds

    def _nodes(self, number):
        return self._core.nodes(number)

    def _by_type(self, counts):
        arrays = [self._nodes(number)[:count] for number, count in enumerate(counts)]
        if len(arrays) == 1:
            return arrays[0]
        return dict(zip(self._schema.node_types, arrays))

    @property
    def input_nodes(self):
        """Global ids of the nodes whose features the first block reads: int64 [n], or {type: ids} with every type."""
        if self._core.num_layers == 0:
            return self.output_nodes
        return self._by_type(self._core.num_inputs(0))

    @property
    def output_nodes(self):
        """Global ids of the nodes that the last block computes: the seeds, or the ends of seed edges."""
        layers = self._core.num_layers
        counts = (self._core.num_outputs(layers - 1) if layers else
                  [len(self._nodes(number)) for number in range(len(self._schema.node_types))])
        return self._by_type(counts)

    @property
    def links(self):
        """The seed edges (LinkBatch) of an edge loader's batch; None of a node loader's."""
        if self._links is None and self._core.has_links:
            self._links = LinkBatch(self._core.links())
        return self._links

    @property
    def blocks(self):
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

    def __iter__(self):
        """`input_nodes, output_nodes, blocks = batch`, as DGL's loaders of nodes give it."""
        return iter((self.input_nodes, self.output_nodes, self.blocks))

    def __repr__(self):
        return f"MiniBatch(epoch={self.epoch}, step={self.step}, num_seeds={self.num_seeds})"
