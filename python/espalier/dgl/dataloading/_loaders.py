"""DGL's loaders, based on those of espalier."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import espalier as ep
from espalier.dgl import _session
from espalier.dgl._absent import refuse
from espalier.dgl._arrays import to_numpy, to_torch
from espalier.dgl._blocks import EID, Block, PairGraph
from espalier.dgl._graph import DistGraph
from espalier.dgl.dataloading._samplers import EdgePredictionSampler, NeighborSampler, SupportsSample
from espalier.types import to_int
from espalier.typing import EdgeIds, EdgeType, NodeIds

if TYPE_CHECKING:
    import torch

    from espalier.dataloading import _Negatives


class Batch(tuple):
    """A mini-batch in the form of DGL's loaders. `mini_batch`: the espalier.MiniBatch; None if another sampler created
    the batch."""

    mini_batch: ep.MiniBatch | None = None


class _Iterable:
    """Base of loaders with `next(loader)`, which starts an epoch or continues the one that it started, as in DGL."""

    _running = None

    def __next__(self) -> Any:
        if self._running is None:
            self._running = iter(self)
        try:
            return next(self._running)
        except StopIteration:
            self._running = None
            raise


class DistDataLoader(_Iterable, ep.DistDataLoader):
    """Batches of a dataset, created by collate_fn. Counterpart of DGL's DistDataLoader, based on
    espalier.DistDataLoader. collate_fn gets the rows of a batch as one array or tensor, in the thread of the loop.
    There is no queue of batches, so queue_size has no effect. seed: seed of shuffling; None: that of `dgl.seed`."""

    def __init__(self, dataset: Any, batch_size: int, shuffle: bool = False,
                 collate_fn: Callable[[Any], Any] | None = None, drop_last: bool = False,
                 queue_size: int | None = None, *, seed: int | None = None) -> None:
        super().__init__(dataset, batch_size, shuffle=shuffle, collate_fn=collate_fn, drop_last=drop_last,
                         seed=_session.loader_seed() if seed is None else seed)


def _seeds(given):
    """Returns (the seeds for espalier's loaders, whether their batch size is that of all ranks together)."""
    share = getattr(given, "espalier_share", given)
    return to_numpy(share), isinstance(share, (ep.NodesOfSplit, ep.EdgesOfSplit))


class _Loader(_Iterable):
    if TYPE_CHECKING:  # of `_batches`
        def __iter__(self) -> Iterator[Batch]: ...

        def __next__(self) -> Batch: ...

    def _batches(self, iteration):
        for batch in super()._batches(iteration):
            made = Batch(self._as_dgl(batch))
            made.mini_batch = batch
            yield made

    def _blocks(self, batch):
        return [Block(block, self._device) for block in batch.blocks]


class _NodeLoader(_Loader, ep.DistNodeDataLoader):
    def __init__(self, device, *arguments, **options):
        self._device = device
        super().__init__(*arguments, **options)

    def _as_dgl(self, batch):
        return (to_torch(batch.input_nodes, self._device), to_torch(batch.output_nodes, self._device),
                self._blocks(batch))


def DistNodeDataLoader(g: DistGraph, nids: ep.NodesOfSplit | NodeIds, graph_sampler: SupportsSample,  # noqa: N802
                       device: "str | torch.device | None" = None, *, batch_size: int = 1, shuffle: bool = False,
                       drop_last: bool = False, queue_size: int | None = None, seed: int | None = None,
                       **options: Any) -> _NodeLoader | DistDataLoader:
    """Returns a loader of mini-batches (input nodes, output nodes, blocks). Counterpart of DGL's DistNodeDataLoader.

    nids: this rank's nodes, as ids or {node type: ids}. For the result of `node_split` for a part of a split, batches
    are those of espalier.DistNodeDataLoader for that part with batch_size x ranks seeds, and so those of the C++
    trainer. A node that repeats in a batch is one seed. graph_sampler: a sampler of this module, or any object with
    `sample(g, seeds)`, which is called in the thread of the loop. For a NeighborSampler this is the case only if seeds
    repeat. batch_size: number of seeds of one rank. device: device of ids and blocks; None: the sampler's
    output_device. queue_size: number of batches that threads of the library sample ahead, like batches_ahead. seed:
    None: that of `dgl.seed`. Other arguments are those of espalier.DistNodeDataLoader.
    """
    seed = _session.loader_seed() if seed is None else seed
    device = getattr(graph_sampler, "output_device", None) if device is None else device
    nodes, is_of_all_ranks = _seeds(nids)
    is_of_espalier = isinstance(graph_sampler, NeighborSampler) and graph_sampler._example_of is None
    if not is_of_espalier or _repeat(nodes):
        unknown = options.keys() - {"num_threads", "batches_ahead"}  # the library's threads are not used here
        if unknown:
            raise TypeError(f"a DistNodeDataLoader that calls its sampler takes no {', '.join(sorted(unknown))}")
        return _sampled_here(g, nids, graph_sampler, device, batch_size, shuffle, drop_last, seed)
    return _NodeLoader(device, g, nodes, graph_sampler._of_espalier(), shuffle=shuffle, drop_last=drop_last, seed=seed,
                       batch_size=batch_size * (g.world_size if is_of_all_ranks else 1),
                       **_with_queue(options, queue_size))


def _with_queue(options, queue_size):
    """Returns the options of espalier's loaders, with DGL's queue_size."""
    if queue_size is None:
        return options
    if "batches_ahead" in options:
        raise ep.InvalidArgument("queue_size and batches_ahead are the same option; give one of them")
    return {**options, "batches_ahead": to_int(queue_size, "queue_size", least=1, most=2**16)}


def _sampled_here(g, nids, graph_sampler, device, batch_size, shuffle, drop_last, seed):
    """Returns a loader that calls the sampler's `sample(g, seeds)` for each batch."""
    ntype, ids = None, to_numpy(nids)
    if isinstance(ids, dict):
        if len(ids) != 1:
            raise ep.InvalidArgument(f"expected seeds of one node type, found: {', '.join(ids) or 'none'}")
        (ntype, ids), = ids.items()

    def collate(seeds):
        seeds = to_torch(seeds)
        batch = graph_sampler.sample(g, seeds if ntype is None else {ntype: seeds})
        return batch if device is None else Batch(_moved(part, device) for part in batch)

    return DistDataLoader(np.asarray(ids), batch_size, shuffle, drop_last=drop_last, collate_fn=collate, seed=seed)


def _moved(values, device):
    if isinstance(values, dict):
        return {name: _moved(value, device) for name, value in values.items()}
    return [_moved(value, device) for value in values] if isinstance(values, list) else values.to(device)


def _repeat(nodes):
    if isinstance(nodes, (ep.NodesOfSplit, ep.NodeShare)):
        return False
    arrays = nodes.values() if isinstance(nodes, dict) else [nodes]
    return any(len(np.unique(ids)) != len(ids) for ids in arrays)


class DistEdgeDataLoader(_Loader, ep.DistEdgeDataLoader):
    """Mini-batches of edges: (input nodes, pair graph, blocks), or (input nodes, pair graph, negative graph, blocks)
    with a negative_sampler. Counterpart of DGL's DistEdgeDataLoader.

    eids: this rank's edges, as ids, {edge type: ids} or the result of `edge_split`; or an espalier.EdgesOfSplit, whose
    batches the ranks divide among them. graph_sampler: a sampler of blocks, or the result of
    as_edge_prediction_sampler. exclude: the edges that a batch does not sample: "self": its seed edges; "reverse_id",
    "reverse_types": its seed edges and their reverses; None: no edges are excluded. Reverses are found by their
    endpoints, so reverse_eids has no effect. device, queue_size: as in DistNodeDataLoader. seed: None: that of
    `dgl.seed`. Other arguments are those of espalier.DistEdgeDataLoader.
    """

    def __init__(self, g: DistGraph, eids: ep.EdgesOfSplit | ep.EdgeShare | EdgeIds,
                 graph_sampler: NeighborSampler | EdgePredictionSampler, device: "str | torch.device | None" = None, *,
                 batch_size: int = 1, shuffle: bool = False, drop_last: bool = False, queue_size: int | None = None,
                 exclude: str | None = None, reverse_eids: EdgeIds | None = None,
                 reverse_etypes: Mapping[Any, EdgeType] | None = None, negative_sampler: "_Negatives | None" = None,
                 seed: int | None = None, **options: Any) -> None:
        if isinstance(graph_sampler, EdgePredictionSampler):
            given = graph_sampler.options
            exclude, reverse_etypes = given["exclude"] or exclude, given["reverse_etypes"] or reverse_etypes
            negative_sampler, graph_sampler = given["negative_sampler"] or negative_sampler, graph_sampler.sampler
        if not isinstance(graph_sampler, NeighborSampler):
            refuse(f"a loader of edges with a {type(graph_sampler).__name__}", "samplers are those of dgl.dataloading")
        self._device = graph_sampler.output_device if device is None else device
        self._is_negative = getattr(negative_sampler, "is_negative", None)
        if callable(negative_sampler):
            refuse("a custom negative sampler", "Uniform, GlobalUniform and others of espalier.negative_sampler")
        edges, is_of_all_ranks = _seeds(eids)
        numbers = self._edge_types(g, edges)
        super().__init__(g, edges, graph_sampler._of_espalier(), shuffle=shuffle, drop_last=drop_last, exclude=exclude,
                         batch_size=batch_size * (g.world_size if is_of_all_ranks else 1),
                         reverse_etypes=reverse_etypes, negative_sampler=negative_sampler, edge_ids=len(numbers) == 1,
                         seed=_session.loader_seed() if seed is None else seed, **_with_queue(options, queue_size))
        self._etypes = [g.canonical_etypes[number] for number in numbers]

    def _as_dgl(self, batch):
        links = batch.links
        graphs = [self._pairs(batch, links.sources, links.destinations, links.relations,
                              {EID: links.edge_ids} if len(links.edge_ids) else {})]
        if links.negatives_per_edge:
            sources, destinations, valid = (rows.reshape(-1) for rows in links.negatives())
            relations = np.repeat(links.relations, links.negatives_per_edge)
            if self._is_negative is not None:
                kept = self._is_negative(sources, destinations, relations)
                sources, destinations, valid = sources[kept], destinations[kept], valid[kept]
                relations = relations[kept]
            graphs.append(self._pairs(batch, sources, destinations, relations, {"valid": valid}))
        return (to_torch(batch.input_nodes, self._device), *graphs, self._blocks(batch))

    def _pairs(self, batch, sources, destinations, relations, columns):
        """Returns the graph of pairs. Endpoints are row numbers of the output nodes, counted through all types."""
        nodes = batch.output_nodes
        if not isinstance(nodes, dict):
            nodes = {self._graph.ntypes[0]: nodes}
        first = dict(zip(nodes, np.cumsum([0, *map(len, nodes.values())])))
        found = {}
        for number, etype in enumerate(self._etypes):
            of = slice(None) if len(self._etypes) == 1 else relations == number
            found[etype] = (sources[of] - first[etype[0]], destinations[of] - first[etype[2]],
                            {name: values[of] for name, values in columns.items()})
        return PairGraph(self._graph._schema, nodes, found, self._device)
