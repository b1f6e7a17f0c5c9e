"""The state of a process that runs a DGL script: its newest graph, its process group and its seed."""

import json
import os
import pathlib
import socket
from typing import TYPE_CHECKING

import numpy as np

import espalier as ep
from espalier.types import to_int
from espalier.typing import Path

if TYPE_CHECKING:
    from espalier.dgl._graph import DistGraph

_TORCH = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class _Session:
    def __init__(self):
        self.graph = None  # used by calls without a graph
        self.group = None
        self.seed = 0
        self.draws = 0  # calls that have drawn a seed
        self.anonymous = 0  # tensors without a name


_session = _Session()


def is_given_a_graph() -> bool:
    return bool(os.environ.get("ESPALIER_SERVERS") or os.environ.get("ESPALIER_PARTITIONS"))


def initialize(ip_config: Path | None = None, max_queue_size: int | None = None, net_type: str | None = None,
               num_worker_threads: int = 1, use_graphbolt: bool = False) -> None:
    """Sets the variables that torch.distributed.init_process_group reads, unless they are set. Counterpart of DGL's
    initialize; every rank calls it.

    Starts nothing and ignores all arguments. The job that runs the program defines servers and ranks
    (docs/programs.md); without a job the process is the only rank. The other arguments configure DGL's transport and
    graph format, which do not exist here. FailedPrecondition: DGL_ROLE is "server"; servers of Espalier are separate
    programs.
    """
    if os.environ.get("DGL_ROLE") == "server":
        raise ep.FailedPrecondition("DGL_ROLE is server: servers are the programs espalier-graph-server, which "
                                    "`espalier run`, `espalier launch` and the operator start")
    if all(name in os.environ for name in _TORCH):  # as in every job
        return
    if os.environ.get("ESPALIER_WORLD_SIZE", "1") != "1":
        raise ep.FailedPrecondition(f"ESPALIER_WORLD_SIZE is set, and of {', '.join(_TORCH)} not all are: `espalier run`, "
                                    "`espalier launch` and the operator set them")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))


def exit_client() -> None:
    """Leaves the process group, if one was used, and releases the graph. Counterpart of DGL's exit_client. Ranks need
    not call it together, and servers continue."""
    if _session.group is not None:
        _session.group.leave()
    _session.graph = _session.group = None


def partitions_of(part_config: Path) -> pathlib.Path:
    """Returns the folder of partitions named by a part_config of `partition_graph`."""
    path = pathlib.Path(part_config)
    if not path.exists():
        raise ep.NotFound(f"there is no part_config {path}")
    config = json.loads(path.read_text())
    if "partitions" not in config:
        raise ep.InvalidArgument(f"{path} names no partitions of Espalier; write it with espalier.dgl.distributed."
                                 "partition_graph, or set ESPALIER_PARTITIONS to what `espalier partition` has written")
    return path.parent / config["partitions"]


def use_graph(graph: "DistGraph") -> None:
    _session.graph = graph


def current_graph(graph: "DistGraph | None" = None) -> "DistGraph":
    """Returns `graph`, or the newest DistGraph."""
    if graph is None:
        graph = _session.graph
    if graph is None:
        raise ep.FailedPrecondition("there is no graph yet: make a DistGraph first")
    return graph


def process_group(graph: "DistGraph | None" = None) -> ep.ProcessGroup:
    """Returns the group of the job's ranks. The first call connects them, so all ranks must make it."""
    if _session.group is None:
        _session.group = ep.init_process_group(current_graph(graph))
    return _session.group


def set_seed(seed: int) -> None:
    """Sets the seed of loaders that are created, and of sampling, after this call. Counterpart of dgl.seed. The same
    program with the same seed samples the same edges. The seed is 0 without a call."""
    _session.seed, _session.draws = to_int(seed, "seed", most=2**32 - 1), 0


def loader_seed() -> int:
    return _session.seed


def next_seed(graph: "DistGraph") -> int:
    """Returns a seed that differs from call to call and from rank to rank."""
    _session.draws += 1
    words = np.random.SeedSequence([_session.seed, graph.rank(), _session.draws]).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


def anonymous_name(what: str) -> str:
    """Returns a name for the next tensor without a name. Ranks that create the same tensors get the same names."""
    _session.anonymous += 1
    return f"anonymous-{what}-{_session.anonymous}"
