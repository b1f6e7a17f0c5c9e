"""Data loaders of nodes and of edges. Threads of the library sample mini-batches and fetch their rows ahead."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from espalier import _core
from espalier.block import MiniBatch
from espalier.distributed import warn_of_plaintext
from espalier.errors import FailedPrecondition, InvalidArgument, NotFound, OutOfRange
from espalier.types import OneCallAtATime, to_ids, to_int
from espalier.typing import Columns, EdgeIds, EdgeType, NodeIds

if TYPE_CHECKING:
    import torch

    from espalier.graph import DistGraph
    from espalier.splits import EdgeShare


class NodesOfSplit:
    """One part of a named split of nodes. The ranks divide each of its batches among them."""

    def __init__(self, split: str, part: str = "train", ntype: str | None = None) -> None:
        self.split, self.part, self.ntype = split, part, ntype


class EdgesOfSplit:
    """One part of a named split of edges. etypes: one edge type or several."""

    def __init__(self, split: str, part: str = "train", etypes: EdgeType | list[EdgeType] | None = None) -> None:
        self.split, self.part = split, part
        self.etypes = etypes if isinstance(etypes, list) else [] if etypes is None else [etypes]

    def numbers(self, g: "DistGraph") -> list[int]:
        return [g._schema.edge_type(etype) for etype in self.etypes] or [g._schema.edge_type()]

    def only_type(self, g: "DistGraph") -> str | tuple[str, str, str]:
        if len(self.etypes) > 1:
            raise InvalidArgument("expected one edge type of the share, found several")
        return self.etypes[0]


class NeighborSampler:
    """Samples the in-edges of each node independently. Counterpart of DGL's NeighborSampler.

    fanouts: for each layer of the model, first layer first, the number of in-edges to sample per edge type, -1 for all,
    or {edge type: number}. prob: edge column with weights or a mask. prefetch_node_feats, prefetch_labels: columns
    (names, or {node type: names}) that the loader fetches ahead into `blocks[0].srcdata` and `blocks[-1].dstdata`.
    edge_ids: whether blocks have the ids of edges. expand: "Always" samples for all nodes of the batch again in every
    layer, like DGL; "Once" samples only once for each node, like PyG. time_column, seed_time_column: temporal sampling
    (docs/sampling.md).
    """

    method = "Neighbor"

    def __init__(self, fanouts: Iterable[int | Mapping[Any, int]], edge_dir: str = "in", prob: str | None = None,
                 replace: bool = False, *, prefetch_node_feats: Columns = (), prefetch_labels: Columns = (),
                 edge_ids: bool = False, expand: str = "Always", time_column: str = "",
                 seed_time_column: str = "") -> None:
        if edge_dir != "in":
            raise InvalidArgument("only in-edges can be sampled; for out-edges add reverse edges to the graph")
        self.fanouts, self.prob, self.replace = list(fanouts), prob, replace
        self.prefetch_node_feats, self.prefetch_labels = prefetch_node_feats, prefetch_labels
        self.edge_ids, self.expand = edge_ids, expand
        self.time_column, self.seed_time_column = time_column, seed_time_column
        self.layer_dependency = False


class LaborSampler(NeighborSampler):
    """LABOR-0 (Balin and Catalyurek, NeurIPS 2023): nodes share random numbers, so that a batch has fewer nodes.
    layer_dependency: layers share the random numbers too. Counterpart of DGL's LaborSampler."""

    method = "Labor"

    def __init__(self, fanouts: Iterable[int | Mapping[Any, int]], *, layer_dependency: bool = False,
                 **options: Any) -> None:
        super().__init__(fanouts, **options)
        self.layer_dependency = layer_dependency


class LastSampler(NeighborSampler):
    """Samples the in-edges of each node that have the latest timestamps in the graph's time column."""

    method = "Last"


class MultiLayerFullNeighborSampler(NeighborSampler):
    """Samples all in-edges in each of `num_layers` layers."""

    def __init__(self, num_layers: int, **options: Any) -> None:
        super().__init__([-1] * num_layers, **options)


class _Negatives:
    def __init__(self, kind, count):
        self.kind, self.count = kind, to_int(count, "number of negatives", least=1, most=2**31 - 1)


class negative_sampler:  # noqa: N801, DGL's name of a module
    """Samplers of `k` negatives for each seed edge (docs/edge-tasks.md)."""

    @staticmethod
    def Uniform(k: int) -> _Negatives:
        """Returns a sampler of `k` uniform destinations for each edge."""
        return _Negatives("Uniform", k)

    @staticmethod
    def GlobalUniform(k: int) -> _Negatives:
        """Returns a sampler of `k` pairs with uniform endpoints for each edge."""
        return _Negatives("GlobalUniform", k)

    @staticmethod
    def Joint(k: int) -> _Negatives:
        """Returns a sampler of `k` uniform destinations for each group of `k` edges."""
        return _Negatives("Joint", k)

    @staticmethod
    def InBatch(k: int) -> _Negatives:
        """Returns a sampler that takes the destinations of `k` other edges of the batch."""
        return _Negatives("InBatch", k)

    @staticmethod
    def InDegree(k: int) -> _Negatives:
        """Returns a sampler of `k` destinations with probabilities proportional to their in-degree in the training
        edges."""
        return _Negatives("InDegree", k)


def sampling_settings(schema, sampler, seed):
    """Returns the settings of a sampler for _core."""
    settings = _core.LoaderSettings()
    settings.fanouts = [schema.fanouts(fanout) for fanout in sampler.fanouts]
    settings.seed, settings.method, settings.expand = to_int(seed, "seed"), sampler.method, sampler.expand
    settings.weight, settings.replace = sampler.prob or "", sampler.replace
    settings.layer_dependency, settings.want_edge_ids = sampler.layer_dependency, sampler.edge_ids
    settings.time_column, settings.seed_time_column = sampler.time_column, sampler.seed_time_column
    return settings


def prefetched_columns(schema, names):
    """Returns [(number of a node type, column)] of a sampler's prefetch_node_feats or prefetch_labels."""
    if isinstance(names, str):
        names = [names]
    by_type = names if isinstance(names, Mapping) else {None: names} if names else {}
    return [(schema.node_type(ntype), column) for ntype, columns in by_type.items()
            for column in ([columns] if isinstance(columns, str) else columns)]


class BatchOrigin:
    """Properties of a loader that conversions of its batches need and that the batches do not contain."""

    def __init__(self, sampler):
        self.expand, self.edge_ids = sampler.expand, sampler.edge_ids
        self.seed_type = None  # number of the node type of seed nodes
        self.link_types = ()  # numbers of the edge types of seed edges
        self.nodes = None  # ids of the list of seeds, if the loader was given a list
        self._order = None

    def positions_of(self, seeds):
        """Returns the positions of seeds in the loader's list, the first position for repeated seeds. Returns their ids
        if there is no list."""
        if self.nodes is None:
            return seeds
        if self._order is None:
            self._order = np.argsort(self.nodes, kind="stable")
        return self._order[np.searchsorted(self.nodes, seeds, sorter=self._order)]


class _Loader:
    """Each iteration (`for batch in loader`) is one epoch, which follows that of the last iteration, even if that
    iteration was left early. After load_state_dict the first iteration is the rest of the loaded epoch. Not
    thread-safe."""

    def __init__(self, g, sampler, batch_size, shuffle, drop_last, seed, num_threads, batches_ahead, from_samplers,
                 device, feature_cache, feature_cache_steps):
        self._graph = g
        self._batch_device = device  # None: batches have arrays
        schema = g._schema
        settings = sampling_settings(schema, sampler, seed)
        settings.batch_size = to_int(batch_size, "batch_size", least=1)
        settings.shuffle, settings.drop_last = bool(shuffle), bool(drop_last)
        settings.threads = to_int(num_threads, "num_threads", least=1, most=1024)
        settings.batches_ahead = to_int(batches_ahead, "batches_ahead", least=1, most=2**16)
        settings.by_samplers = from_samplers
        self._fetches = [(number, column, of_seeds)
                         for names, of_seeds in ((sampler.prefetch_node_feats, False), (sampler.prefetch_labels, True))
                         for number, column in prefetched_columns(schema, names)]
        if self._fetches and not sampler.fanouts:
            raise InvalidArgument("columns are fetched into blocks, and a sampler without fanouts makes none")
        settings.fetches = self._fetches
        settings.feature_cache_bytes = to_int(feature_cache, "feature_cache", most=2**63 - 1)
        settings.feature_cache_steps = to_int(feature_cache_steps, "feature_cache_steps", least=1, most=1000)
        self._origin = BatchOrigin(sampler)
        self._settings = settings
        self._calls = OneCallAtATime("loader")
        self._epoch, self._step = 0, 0  # of the next batch
        self._begun = False  # whether an iteration has taken batches of this epoch
        self._iteration = 0  # number of the newest iteration
        self._num_items = 0  # seeds of an epoch, of all ranks together or of the rank with the most

    def state_dict(self) -> dict[str, int]:
        """Returns the position of the next batch, {"epoch": e, "step": s, ...}. A loader that loads this state
        continues with the same batches as without interruption. load_state_dict raises InvalidArgument if the loader
        has another batch size or seed."""
        return {"epoch": self._epoch, "step": self._step, "batch_size": self._settings.batch_size,
                "seed": self._settings.seed}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        for name in ("batch_size", "seed"):
            here = getattr(self._settings, name)
            if state.get(name, here) != here:
                raise InvalidArgument(f"the state is of a loader with {name} {state[name]}, not {here}")
        self._epoch = to_int(state["epoch"], "epoch", most=2**32 - 1)
        self._step, self._begun = to_int(state["step"], "step", most=2**32 - 1), False

    def set_epoch(self, epoch: int) -> None:
        """Starts the next iteration at the first step of epoch `epoch`."""
        self._epoch, self._step, self._begun = to_int(epoch, "epoch", most=2**32 - 1), 0, False

    def feature_cache_counts(self) -> dict[str, int]:
        """Returns the rows of prefetched batches so far that came from other machines: {"hit_rows": rows found in the
        cache, "fetched_rows": rows requested from graph servers, "saved_bytes": size of the former, "fetched_bytes":
        size of the latter, "held_bytes": memory of the cache}. All are 0 without feature_cache, or if all partitions
        are mapped."""
        names = ("hit_rows", "fetched_rows", "saved_bytes", "fetched_bytes", "held_bytes")
        return dict(zip(names, self._core.feature_cache_counts(), strict=True))

    def __len__(self) -> int:
        """Number of batches of an epoch."""
        size = self._settings.batch_size
        return self._num_items // size if self._settings.drop_last else -(-self._num_items // size)

    def __iter__(self) -> Iterator[MiniBatch]:
        if self._begun:  # the last iteration was left early
            self.set_epoch(self._epoch + 1)
        if self._step > len(self):
            raise OutOfRange(f"step {self._step} of an epoch of {len(self)} steps")
        warn_of_plaintext()  # checked here because a script may create its group after it has opened the graph
        with self._calls:
            self._core.start_epoch(self._epoch, self._step)
        self._iteration += 1
        return self._batches(self._iteration)

    def _batches(self, iteration):
        batches = self._sampled(iteration)
        if self._batch_device is not None:
            from espalier import device_batches

            batches = device_batches.on_device(batches, self._batch_device)
        for batch in batches:
            self._check_newest(iteration)
            self._step, self._begun = batch.step + 1, True  # batches that are copied ahead do not count
            yield batch
        self._check_newest(iteration)  # batches that are copied ahead have ended before the last one is used
        self.set_epoch(self._epoch + 1)

    def _sampled(self, iteration):
        while True:
            self._check_newest(iteration)
            with self._calls:
                batch = self._core.next()
            if batch is None:
                return
            yield MiniBatch(self._graph._schema, batch, self._fetches, self._origin)

    def _check_newest(self, iteration):
        if iteration != self._iteration:
            raise FailedPrecondition("a newer iteration of this loader has begun; one loader has one at a time")

    def cancel(self) -> None:
        """Ends the epoch early. May be called from any thread. A thread that waits for a batch gets Cancelled."""
        self._core.cancel()


def _size_of_parts(splits, numbers, seeds):
    sizes = {(number, name): dict(train=train, validation=validation, test=test)
             for number, name, train, validation, test in splits}
    if seeds.part not in ("train", "validation", "test"):
        raise InvalidArgument(f"part {seeds.part!r} of a split; expected 'train', 'validation' or 'test'")
    missing = [number for number in numbers if (number, seeds.split) not in sizes]
    if missing:
        names = sorted({name for number, name in sizes if number in numbers})
        raise NotFound(f"there is no split {seeds.split!r}; there are {', '.join(names) or 'none'}")
    return sum(sizes[number, seeds.split][seeds.part] for number in numbers)


class DistNodeDataLoader(_Loader):
    """Mini-batches of nodes. Counterpart of DGL's DistNodeDataLoader.

    nodes: NodesOfSplit(split, part), or this rank's nodes (`node_split`, an array of ids, or {node type: ids} with one
    type). With a NodesOfSplit, a batch has `batch_size` seeds, which the ranks divide among them. With this rank's
    nodes, a batch has `batch_size` seeds of this rank; all ranks must have the same number of batches, which
    `node_split` ensures.

    seed: seed of shuffling and sampling. num_threads: number of threads that sample; one more thread fetches features.
    from_samplers: whether the job's sampler processes sample the batches; the NodesOfSplit, seed and fan-outs must be
    those of the job. device: a name or a torch.device. Batches have tensors on it, as returned by `batch.to(device)`;
    None: batches have arrays. For a GPU, each batch is copied from pinned memory on a separate stream while the batch
    before it is in use; up to three batches take memory of the GPU. feature_cache: bytes of memory in which the loader
    keeps rows of prefetch_node_feats that come from other machines; 0: none. Batches are then sampled up to
    feature_cache_steps ahead, 1 to 1000, and the rows that these batches read soonest are kept (docs/python.md).
    """

    def __init__(self, g: "DistGraph", nodes: NodesOfSplit | NodeIds, sampler: NeighborSampler, *, batch_size: int,
                 shuffle: bool = True, drop_last: bool = False, seed: int = 0, num_threads: int = 1,
                 batches_ahead: int = 2, from_samplers: bool = False, device: "str | torch.device | None" = None,
                 feature_cache: int = 0, feature_cache_steps: int = 32) -> None:
        super().__init__(g, sampler, batch_size, shuffle, drop_last, seed, num_threads, batches_ahead, from_samplers,
                         device, feature_cache, feature_cache_steps)
        if isinstance(nodes, NodesOfSplit):
            number = self._origin.seed_type = g._schema.node_type(nodes.ntype)
            self._num_items = _size_of_parts(g._core.node_splits, [number], nodes)
            self._core = _core.nodes_of_split(g._core, self._settings, number, nodes.split, nodes.part)
            return
        ntype = None
        if isinstance(nodes, Mapping):
            if len(nodes) != 1:
                raise InvalidArgument(f"expected seeds of one node type, found: {', '.join(map(str, nodes)) or 'none'}")
            (ntype, nodes), = nodes.items()
        largest = getattr(nodes, "largest", None)
        ids = to_ids(nodes, "nodes")
        self._num_items = len(ids) if largest is None else largest
        self._origin.seed_type, self._origin.nodes = g._schema.node_type(ntype), ids
        self._core = _core.nodes_of_rank(g._core, self._settings, self._origin.seed_type, ids, self._num_items)


class DistEdgeDataLoader(_Loader):
    """Mini-batches of edges, for link prediction and tasks on edges. Counterpart of DGL's DistEdgeDataLoader.

    edges: EdgesOfSplit(split, part, etypes), an EdgeShare (`edge_split`), this rank's edge ids (an array, if the graph
    has one edge type), or {edge type: ids} with one type. The blocks are the neighborhoods of all endpoints;
    `batch.links` has the edges.

    negative_sampler: negative_sampler.Uniform(k) and others; None: no negatives. exclude: the edges that a batch does
    not sample: "self": its seed edges; "reverse_id", "reverse_types": its seed edges and their reverses; None: no edges
    are excluded.
    reverse_etypes: {edge type: edge type of its reverses}; None: each edge type contains its own reverses.
    edge_columns: columns of the seed edges for `batch.links.columns`. edge_ids: whether `batch.links.edge_ids` has the
    ids of the seed edges; only with one edge type. device, feature_cache, feature_cache_steps: as in
    DistNodeDataLoader.
    """

    def __init__(self, g: "DistGraph", edges: "EdgesOfSplit | EdgeShare | EdgeIds", sampler: NeighborSampler, *,
                 batch_size: int, shuffle: bool = True, drop_last: bool = False,
                 negative_sampler: "_Negatives | None" = None, exclude: str | None = "self",
                 reverse_etypes: Mapping[Any, EdgeType] | None = None, edge_columns: Iterable[str] = (),
                 edge_ids: bool = False, seed: int = 0, num_threads: int = 1, batches_ahead: int = 2,
                 from_samplers: bool = False, device: "str | torch.device | None" = None, feature_cache: int = 0,
                 feature_cache_steps: int = 32) -> None:
        super().__init__(g, sampler, batch_size, shuffle, drop_last, seed, num_threads, batches_ahead, from_samplers,
                         device, feature_cache, feature_cache_steps)
        schema = g._schema
        settings = _core.EdgeSettings()
        if negative_sampler is not None:
            settings.negatives, settings.negatives_per_edge = negative_sampler.kind, negative_sampler.count
        if exclude not in (None, "self", "reverse_id", "reverse_types"):
            raise InvalidArgument(f"exclude {exclude!r}; expected None, 'self', 'reverse_id' or 'reverse_types'")
        settings.exclude = exclude is not None
        settings.edge_columns, settings.want_pair_ids = list(edge_columns), edge_ids
        numbers = self._origin.link_types = self._edge_types(g, edges)
        if exclude in ("reverse_id", "reverse_types"):
            settings.reverse_types = (
                {number: number for number in numbers} if reverse_etypes is None else
                {schema.edge_type(a): schema.edge_type(b) for a, b in reverse_etypes.items()})
        if isinstance(edges, EdgesOfSplit):
            self._num_items = _size_of_parts(g._core.edge_splits, numbers, edges)
            self._core = _core.edges_of_split(g._core, self._settings, settings, numbers, edges.split, edges.part)
            return
        if isinstance(edges, Mapping):
            (_, edges), = edges.items()
        if not hasattr(edges, "sources"):
            ids = to_ids(edges, "edges")
            sources, destinations = g.find_edges(ids, schema.edge_types[numbers[0]])
            largest = len(ids)
        else:
            sources, destinations, ids, largest = edges.sources, edges.destinations, edges.ids, edges.largest
        self._num_items = largest
        self._core = _core.edges_of_rank(g._core, self._settings, settings, numbers[0],
                                         np.ascontiguousarray(sources), np.ascontiguousarray(destinations), ids, largest)

    @staticmethod
    def _edge_types(g, edges):
        if isinstance(edges, EdgesOfSplit):
            return edges.numbers(g)
        if isinstance(edges, Mapping):
            if len(edges) != 1:
                raise InvalidArgument(f"expected edges of one type, found: {', '.join(map(str, edges)) or 'none'}")
            return [g._schema.edge_type(next(iter(edges)))]
        return [edges.etype if hasattr(edges, "etype") else g._schema.edge_type()]
