"""Memory limit and processes of a running container, through its node's control groups. Needs a cluster of e2e/cluster."""

import contextlib
import os
import pathlib
import signal

from cluster_setup.state import Cluster
from runner.commands import Failure

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")


@contextlib.contextmanager
def memory_limit(pod, limit_bytes):
    """A block in which the first container of `pod` (the API's object) has another memory limit."""
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
    """Sends SIGKILL to the processes of one container of `pod` (the API's object). The kubelet restarts the container,
    unless the pod's restartPolicy is Never. This is not possible from inside the container, because its first process
    ignores SIGKILL from its own namespace."""
    found = [status for status in pod["status"].get("containerStatuses", []) if status["name"] == name]
    if not found or "running" not in found[0]["state"]:
        raise Failure(f"{pod['metadata']['name']}: {name} does not run: {found}")
    processes = (_memory_group(pod, found[0]) / "cgroup.procs").read_text().split()
    if not processes:
        raise Failure(f"{pod['metadata']['name']}: {name} has no process")
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # it has ended with the previous one
            os.kill(int(process), signal.SIGKILL)


def kill_all(pod):
    """Kills all running containers of a pod, as `kill` does."""
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
