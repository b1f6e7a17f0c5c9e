"""Mini-batches as PyG's Data and HeteroData, and blocks as DGL's.

PyG's NeighborLoader expands each node of a batch once. Its edges are ordered by the hop that sampled them, and its
nodes by the hop that reached them first, so that torch_geometric.utils.trim_to_layer can cut off the last hops from
layer to layer. A batch of a sampler with expand="Once" has its nodes in the same order. Of each type, the rows below
bounds[0] are the seeds, and the rows [bounds[h - 1], bounds[h]) are the nodes that the h-th hop reached. The in-edges
of the seeds are in blocks[-1], those of the nodes of the h-th hop in blocks[-1 - h]. Nodes of the last hop have none.
"""

import numpy as np

from espalier.block import NID
from espalier.errors import InvalidArgument, NotFound


class PyGEdges:
    """The in-edges of one edge type, each once, hop by hop: int64 [edges] `sources`, `destinations` (rows) and `ids`
    (None without ids), and the numbers of edges by hop, `counts`."""

    def __init__(self, schema, number, blocks, bounds, with_ids):
        destination = schema.destination_of(number)
        sources, destinations, ids = ([np.zeros(0, np.int64)] for _ in range(3))
        self.counts, begin = [], 0
        for hop, block in enumerate(reversed(blocks)):
            end = int(bounds[hop][destination])
            indptr, indices, edge_ids = block._relation(schema.edge_types[number])
            first, last = indptr[begin], indptr[end]
            sources.append(indices[first:last])
            destinations.append(np.repeat(np.arange(begin, end), np.diff(indptr[begin:end + 1])))
            ids.append(edge_ids[first:last])
            self.counts.append(int(last - first))
            begin = end
        self.sources, self.destinations = (np.concatenate(parts, dtype=np.int64) for parts in (sources, destinations))
        self.ids = np.concatenate(ids) if with_ids else None


class PyGGraph:
    """A batch's nodes and edges as PyG numbers them: `nodes` and `node_counts` (the number of seeds, then the number of
    nodes that each hop reached) by node type, `edges` by edge type."""

    def __init__(self, batch):
        origin, schema = batch._origin, batch._schema
        if batch._moved_nodes is not None:
            raise InvalidArgument("convert the batch before it is moved: batch.to_data().to(device)")
        if origin.expand != "Once" and len(batch.blocks) > 1:
            raise InvalidArgument(
                f'in a batch of a sampler with expand="{origin.expand}" a node has other in-edges in every layer, and '
                'Data of PyG has one set of edges; make the sampler with expand="Once", or give each layer its block: '
                "conv(block.bipartite(x), block.edge_index())")
        types = range(len(schema.node_types))
        self.bounds = [[len(nodes) for nodes in (batch._nodes(number) for number in types)]]
        if batch.blocks:
            last_to_first = batch.blocks[::-1]
            self.bounds = [last_to_first[0]._num_dst, *(block._num_src for block in last_to_first)]
        self.nodes = [batch._nodes(number)[:self.bounds[-1][number]] for number in types]
        self.node_counts = [np.diff([0, *(bound[number] for bound in self.bounds)]).tolist() for number in types]
        self.edges = [PyGEdges(schema, number, batch.blocks, self.bounds, origin.edge_ids)
                      for number in range(len(schema.edge_types))]


def _torch_geometric():
    try:
        import torch_geometric.data
    except ImportError as error:
        raise ImportError("a batch as PyG's data needs PyG: pip install torch torch_geometric") from error
    return torch_geometric


def to_labels(rows):
    """Returns a tensor of labels as loss functions of torch take it: integers as int64, [n, 1] as [n]."""
    if rows.ndim == 2 and rows.shape[1] == 1:
        rows = rows.reshape(-1)
    return rows if rows.is_floating_point() or rows.is_complex() else rows.long()


def _columns(batch):
    """Returns the fetched columns by node type, {name: tensor}. A column fetched for all nodes replaces one of the same
    name that was fetched for the seeds."""
    from espalier.torch_arrays import to_tensor

    by_type = [{} for _ in batch._schema.node_types]
    for data in (batch.blocks[-1].dstdata, batch.blocks[0].srcdata) if batch.blocks else ():
        for columns, found in zip(by_type, data._by_type):
            columns.update((name, to_tensor(rows)) for name, rows in found.items() if name != NID)
    return by_type


def _rename(schema, by_type, attribute, wanted, convert=lambda rows: rows):
    """Renames the column `wanted`, a name or {node type: name}, to `attribute`."""
    if wanted is None:
        return
    named = ({schema.node_type(ntype): name for ntype, name in wanted.items()} if isinstance(wanted, dict) else
             {number: wanted for number, columns in enumerate(by_type) if wanted in columns})
    for number, name in named.items() or ((0, wanted),):
        if name not in by_type[number]:
            known = sorted({name for columns in by_type for name in columns})
            raise NotFound(f"{attribute}: the batch has no column {name!r}; it has {', '.join(known) or 'none'}. "
                           "Name it in the sampler's prefetch_node_feats or prefetch_labels")
        by_type[number][attribute] = convert(by_type[number].pop(name))


def _add_links(data_of, batch, graph):
    """Adds the seed edges by edge type to data_of(number of the edge type), positives before negatives."""
    import torch

    schema, links = batch._schema, batch.links
    first = np.concatenate(([0], np.cumsum(graph.bounds[0])))  # rows of links count through the types
    negative_sources, negative_destinations, valid = links.negatives()
    relations = np.repeat(links.relations[:, None], links.negatives_per_edge, axis=1)
    for position, number in enumerate(batch._origin.link_types):
        mine, of_negatives = links.relations == position, valid & (relations == position)
        ends = [np.concatenate((positive[mine], negative[of_negatives]), dtype=np.int64) - first[node_type]
                for positive, negative, node_type in
                ((links.sources, negative_sources, schema.source_of(number)),
                 (links.destinations, negative_destinations, schema.destination_of(number)))]
        data = data_of(number)
        data.edge_label_index = torch.from_numpy(np.stack(ends))
        data.edge_label = torch.zeros(len(ends[0]))
        data.edge_label[:int(mine.sum())] = 1
        if len(links.edge_ids):
            data.input_id = torch.from_numpy(links.edge_ids[mine])


def _fill(batch, graph, x, y, node_data, edge_data):
    """Sets the attributes of node_data(number of a node type) and edge_data(number of an edge type)."""
    import torch

    schema, columns = batch._schema, _columns(batch)
    _rename(schema, columns, "x", x)
    _rename(schema, columns, "y", y, to_labels)
    for number, nodes in enumerate(graph.nodes):
        data = node_data(number)
        data.n_id, data.num_nodes = torch.from_numpy(nodes), len(nodes)
        data.num_sampled_nodes = graph.node_counts[number]
        for name, rows in columns[number].items():
            data[name] = rows
    for number, edges in enumerate(graph.edges):
        data = edge_data(number)
        data.edge_index = torch.from_numpy(np.stack((edges.sources, edges.destinations)))
        data.num_sampled_edges = edges.counts
        if edges.ids is not None:
            data.e_id = torch.from_numpy(edges.ids)
    if batch.links is not None:
        _add_links(edge_data, batch, graph)
        return
    seed_type = batch._origin.seed_type
    data, seeds = node_data(seed_type), graph.nodes[seed_type][:graph.node_counts[seed_type][0]]
    data.batch_size = len(seeds)
    data.input_id = torch.from_numpy(np.ascontiguousarray(batch._origin.positions_of(seeds)))


def to_data(batch, x, y):
    data = _torch_geometric().data.Data()
    batch._schema.node_type(), batch._schema.edge_type()  # InvalidArgument of several types
    _fill(batch, PyGGraph(batch), x, y, lambda number: data, lambda number: data)
    return data


def to_hetero_data(batch, x, y):
    data = _torch_geometric().data.HeteroData()
    schema = batch._schema
    _fill(batch, PyGGraph(batch), x, y, lambda number: data[schema.node_types[number]],
          lambda number: data[schema.edge_types[number]])
    return data


def to_dgl(block):
    """Returns a Block as one of DGL's."""
    try:
        import dgl
    except ImportError as error:
        raise ImportError("a block of DGL's needs DGL: pip install torch dgl") from error
    block = block.to("cpu")
    schema, relations, ids = block._schema, {}, {}
    for names in block.canonical_etypes:
        indptr, indices, ids[names] = block._relation(names)
        relations[names] = ("csc", (indptr.long(), indices.long(), indices.new_zeros(0).long()))
    counts = [dict(zip(schema.node_types, of_types)) for of_types in (block._num_src, block._num_dst)]
    made = dgl.create_block(relations, num_src_nodes=counts[0], num_dst_nodes=counts[1])
    for ours, theirs in (block.srcdata, made.srcnodes), (block.dstdata, made.dstnodes):
        for ntype, columns in zip(schema.node_types, ours._by_type):
            for name, rows in columns.items():
                theirs[ntype].data[dgl.NID if name == NID else name] = rows
    for names, edge_ids in ids.items():
        if len(edge_ids) == block.num_edges(names):
            made.edges[names].data[dgl.EID] = edge_ids
    return made
