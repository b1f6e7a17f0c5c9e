"""A container, met on its machine while it runs: its limit, its processes. Needs a cluster of e2e/cluster."""

import contextlib
import os
import pathlib
import signal

from cluster_setup.state import Cluster
from runner.commands import Failure

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")


@contextlib.contextmanager
def memory_limit(pod, limit_bytes):
    """A time in which the first container of a pod (as the API has it) may use so much memory."""
    path = _memory_group(pod, pod["status"]["containerStatuses"][0]) / "memory.limit_in_bytes"
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


def kill(pod, name):
    """Kills the processes of one container of a pod (as the API has it), which hear nothing of it before: the kubelet
    starts it again in its place, unless the pod is one that runs once. From within nobody could, for to its own kill a
    container's first process does not listen."""
    found = [status for status in pod["status"].get("containerStatuses", []) if status["name"] == name]
    if not found or "running" not in found[0]["state"]:
        raise Failure(f"{pod['metadata']['name']}: {name} does not run: {found}")
    processes = (_memory_group(pod, found[0]) / "cgroup.procs").read_text().split()
    if not processes:
        raise Failure(f"{pod['metadata']['name']}: {name} has no process")
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # it has ended with the one before
            os.kill(int(process), signal.SIGKILL)


def kill_all(pod):
    """The same for all of a pod's containers that run."""
    running = [status["name"] for status in pod["status"].get("containerStatuses", []) if "running" in status["state"]]
    if not running:
        raise Failure(f"{pod['metadata']['name']}: nothing runs in it: {pod['status']}")
    for name in running:
        kill(pod, name)


def _memory_group(pod, status):
    node = MEMORY / Cluster(os.environ["ESPALIER_E2E_CLUSTER"]).cgroup(pod["spec"]["nodeName"])
    container = status["containerID"].rpartition("/")[2]
    found = list(node.glob(f"**/pod{pod['metadata']['uid']}/{container}"))
    if len(found) != 1:
        raise Failure(f"{pod['metadata']['name']}: expected one control group of its container below {node}, "
                      f"found {found}")
    return found[0]
