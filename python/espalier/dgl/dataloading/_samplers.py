"""DGL's samplers, based on those of espalier."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import espalier as ep
from espalier.dataloading import prefetched_columns
from espalier.dgl._absent import refuse
from espalier.dgl._arrays import to_torch
from espalier.dgl._blocks import NID, Block, to_block
from espalier.dgl._graph import DistGraph
from espalier.dgl._sampling import _distinct, fanout_of, sample_neighbors
from espalier.typing import Columns, EdgeIds, EdgeType, NodeIds

if TYPE_CHECKING:
    import torch

    from espalier.dataloading import _Negatives


class SupportsSample(Protocol):
    # The interface of samplers for a loader.
    def sample(self, g: Any, seeds: Any, /) -> Any: ...


class Sampler:
    """Base of samplers. A loader calls `sample(g, seeds)` of samplers that are not from this module, with the ids of
    the seeds."""

    def sample(self, g: DistGraph, indices: NodeIds) -> Any:
        raise NotImplementedError


class BlockSampler(Sampler):
    """Base of samplers that return blocks: `sample_blocks(g, seeds)` returns (input nodes, output nodes, blocks).

    prefetch_node_feats, prefetch_labels: columns that `sample` reads into `blocks[0].srcdata` and `blocks[-1].dstdata`
    after sample_blocks. output_device: device of a loader's batches with this sampler, unless the loader has a device.
    """

    def __init__(self, prefetch_node_feats: Columns | None = None, prefetch_labels: Columns | None = None,
                 prefetch_edge_feats: Columns | None = None,
                 output_device: "str | torch.device | None" = None) -> None:
        if prefetch_edge_feats:
            refuse("prefetch_edge_feats", "read rows of edges by blocks[i].edata[dgl.EID] from g.edata")
        self.prefetch_node_feats, self.prefetch_labels = prefetch_node_feats or (), prefetch_labels or ()
        self.output_device = output_device

    def sample_blocks(self, g: DistGraph, seed_nodes: NodeIds,
                      exclude_eids: EdgeIds | None = None) -> tuple[Any, Any, list[Block]]:
        raise NotImplementedError

    def sample(self, g: DistGraph, seed_nodes: NodeIds,
               exclude_eids: EdgeIds | None = None) -> tuple[Any, Any, list[Block]]:
        """Returns the result of sample_blocks, with the prefetched columns."""
        exclude = {} if exclude_eids is None else {"exclude_eids": exclude_eids}
        input_nodes, output_nodes, blocks = self.sample_blocks(g, seed_nodes, **exclude)
        self._prefetch(g, blocks)
        return input_nodes, output_nodes, blocks

    def _prefetch(self, g, blocks):
        fetches = [(number, column, end) for names, end in ((self.prefetch_node_feats, "srcdata"),
                                                            (self.prefetch_labels, "dstdata"))
                   for number, column in prefetched_columns(g._schema, names)]
        if fetches and not blocks:
            raise ep.InvalidArgument("columns are fetched into blocks, and the sampler makes none")
        for number, column, end in fetches:
            ntype = g.ntypes[number]
            frame = getattr(blocks[0 if end == "srcdata" else -1], end)._frames[ntype]
            frame[column] = g.nodes[ntype].data[column][frame[NID]].to(frame[NID].device)


class NeighborSampler(BlockSampler):
    """Samples the in-edges of each node independently, in one layer for each fan-out, the first layer first.
    Counterpart of DGL's NeighborSampler and MultiLayerNeighborSampler.

    fanouts: numbers of in-edges per edge type, -1 for all, or {edge type: number}. prob: edge column with weights.
    mask: edge column that is not 0 for edges that may be sampled. prefetch_node_feats, prefetch_labels: columns that a
    loader fetches ahead into `blocks[0].srcdata` and `blocks[-1].dstdata`; if seeds repeat, it reads them when it
    samples. output_device: as in BlockSampler, also for the result of `sample_blocks`. fused: no effect; it selects an
    implementation in DGL.

    `NeighborSampler(g, fanouts, sample_neighbors, device)` creates the sampler of the user guide's example:
    `sample_blocks(seeds)`, used as the collate_fn of a DistDataLoader, returns the blocks on the device. Its first
    fan-out is that of the seeds.
    """

    def __init__(self, fanouts: DistGraph | Iterable[int | dict[Any, int]],
                 edge_dir: str | Iterable[int | dict[Any, int]] = "in",
                 prob: str | Callable[..., Any] | None = None, mask: "str | torch.device | None" = None,
                 replace: bool = False, prefetch_node_feats: Columns | None = None,
                 prefetch_labels: Columns | None = None, prefetch_edge_feats: Columns | None = None,
                 output_device: "str | torch.device | None" = None, fused: bool = True) -> None:
        self._example_of = None
        if isinstance(fanouts, DistGraph):
            self._example_of, fanouts, self._sample_neighbors, output_device = fanouts, edge_dir, prob, mask
            fanouts, edge_dir, prob, mask, replace = list(fanouts)[::-1], "in", None, None, True
        super().__init__(prefetch_node_feats, prefetch_labels, prefetch_edge_feats, output_device)
        if prob is not None and mask is not None:
            raise ep.InvalidArgument("a sampler has prob or mask, not both")
        self.fanouts = [fanout_of(fanout) for fanout in fanouts]
        self.edge_dir, self.prob, self.replace = edge_dir, prob if mask is None else mask, replace

    def _of_espalier(self):
        """Returns the sampler for espalier's loaders."""
        return ep.NeighborSampler(self.fanouts, **self._options())

    def _options(self):
        return dict(edge_dir=self.edge_dir, prob=self.prob, replace=self.replace, edge_ids=True,
                    prefetch_node_feats=self.prefetch_node_feats, prefetch_labels=self.prefetch_labels)

    def sample_blocks(self, g: DistGraph | NodeIds, seed_nodes: NodeIds | None = None,
                      exclude_eids: None = None) -> Any:
        if self._example_of is not None and seed_nodes is None:
            blocks = self._sample(self._example_of, g, self._sample_neighbors)[2]
            self._prefetch(self._example_of, blocks)
            return blocks
        if exclude_eids is not None:
            refuse("exclude_eids", "DistEdgeDataLoader leaves out seed edges, and their reverses")
        return self._sample(g, seed_nodes, sample_neighbors)

    def _sample(self, g, seeds, sample):
        nodes = output_nodes = _distinct(seeds)
        blocks = []
        for fanout in reversed(self.fanouts):
            frontier = sample(g, nodes, fanout, edge_dir=self.edge_dir, prob=self.prob, replace=self.replace)
            blocks.insert(0, to_block(frontier, nodes))
            nodes = blocks[0].srcdata[NID]
        device = self.output_device
        if device is not None:
            blocks = [block.to(device) for block in blocks]
        input_nodes = blocks[0].srcdata[NID] if blocks else to_torch(nodes, device)
        return input_nodes, to_torch(output_nodes, device), blocks


class MultiLayerNeighborSampler(NeighborSampler):
    """NeighborSampler, with its name in older versions of DGL."""


class MultiLayerFullNeighborSampler(NeighborSampler):
    """Samples all in-edges in each of `num_layers` layers."""

    def __init__(self, num_layers: int, **options: Any) -> None:
        super().__init__([-1] * num_layers, **options)


class LaborSampler(NeighborSampler):
    """LABOR-0: nodes share random numbers, so that a batch has fewer nodes. Counterpart of DGL's LaborSampler. Only for
    loaders."""

    def __init__(self, fanouts: Iterable[int | dict[Any, int]], edge_dir: str = "in", prob: str | None = None,
                 importance_sampling: int = 0, layer_dependency: bool = False, batch_dependency: int = 1,
                 prefetch_node_feats: Columns | None = None, prefetch_labels: Columns | None = None,
                 prefetch_edge_feats: Columns | None = None,
                 output_device: "str | torch.device | None" = None) -> None:
        if importance_sampling != 0 or batch_dependency != 1:
            refuse("LABOR with importance_sampling or batch_dependency", "LABOR-0 is there: importance_sampling=0")
        super().__init__(fanouts, edge_dir, prob, None, False, prefetch_node_feats, prefetch_labels,
                         prefetch_edge_feats, output_device)
        self.layer_dependency = layer_dependency

    def _of_espalier(self):
        return ep.LaborSampler(self.fanouts, layer_dependency=self.layer_dependency, **self._options())

    def _sample(self, g, seeds, sample):
        refuse("sample_blocks of a LaborSampler", "give the sampler to DistNodeDataLoader, with each seed once")


class EdgePredictionSampler:
    """The result of `as_edge_prediction_sampler`, for DistEdgeDataLoader."""

    def __init__(self, sampler: NeighborSampler, exclude: str | None, reverse_eids: EdgeIds | None,
                 reverse_etypes: Mapping[Any, EdgeType] | None, negative_sampler: "_Negatives | None") -> None:
        self.sampler = sampler
        self.options = dict(exclude=exclude, reverse_eids=reverse_eids, reverse_etypes=reverse_etypes,
                            negative_sampler=negative_sampler)


def as_edge_prediction_sampler(sampler: NeighborSampler, exclude: str | None = None,
                               reverse_eids: EdgeIds | None = None,
                               reverse_etypes: Mapping[Any, EdgeType] | None = None,
                               negative_sampler: "_Negatives | None" = None,
                               prefetch_labels: Columns | None = None) -> EdgePredictionSampler:
    """Returns a sampler of seed edges, whose neighborhoods `sampler` samples. Other arguments are those of
    DistEdgeDataLoader."""
    if prefetch_labels:
        refuse("prefetch_labels of edges", "read rows of edges by pair_graph.edata[dgl.EID] from g.edata")
    return EdgePredictionSampler(sampler, exclude, reverse_eids, reverse_etypes, negative_sampler)
