"""What the kubelet sets for a container, changed on its machine while it runs. Needs a cluster of e2e/cluster."""

import contextlib
import os
import pathlib

from cluster_setup.state import Cluster
from runner.commands import Failure

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")


@contextlib.contextmanager
def memory_limit(pod, limit_bytes):
    """A time in which the first container of a pod (as the API has it) may use so much memory."""
    path = _memory_group(pod) / "memory.limit_in_bytes"
    before = path.read_text()
    try:
        path.write_text(str(limit_bytes))
    except OSError as error:
        raise Failure(f"{pod['metadata']['name']} cannot be limited to {limit_bytes} bytes: {error}") from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # it may have ended
            path.write_text(before)


def _memory_group(pod):
    node = MEMORY / Cluster(os.environ["ESPALIER_E2E_CLUSTER"]).cgroup(pod["spec"]["nodeName"])
    container = pod["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
    found = list(node.glob(f"**/pod{pod['metadata']['uid']}/{container}"))
    if len(found) != 1:
        raise Failure(f"{pod['metadata']['name']}: expected one control group of its container below {node}, "
                      f"found {found}")
    return found[0]
