"""Ends and removes all parts of a cluster. Finds them on the machine, because the recorded state may be incomplete."""

import os
import pathlib
import shutil

from cluster_setup.processes import end_all_in, run, wait_until

CGROUPS = pathlib.Path("/sys/fs/cgroup")
CONTROL_PLANE_GRACE_SECONDS = 3


def remove(cluster, keep_logs=False):
    center = cluster.control_plane_namespace
    for namespace in cluster.namespaces():
        end_all_in(namespace, CONTROL_PLANE_GRACE_SECONDS if namespace == center else 0)
        run(["ip", "netns", "del", namespace])
    _remove_cgroups(center + ".")
    if not cluster.folder.exists():
        return
    for entry in cluster.folder.iterdir():
        if entry == cluster.logs and keep_logs:
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    if not keep_logs:
        cluster.folder.rmdir()


def _remove_cgroups(prefix):
    """Removes the nodes' control groups with those of their pods, innermost first. Retries, because killed processes leave
    their groups with a delay."""
    for controller in CGROUPS.iterdir():
        if not controller.is_dir() or controller.is_symlink():
            continue
        for root in controller.glob(prefix + "*"):
            wait_until(f"an empty cgroup {root}", 30, lambda root=root: _is_removed(root))


def _is_removed(root):
    for folder, _, _ in os.walk(root, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            return False
    return not root.exists()
