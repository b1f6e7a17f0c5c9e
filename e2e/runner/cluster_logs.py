"""Logs of a cluster of e2e/cluster that kubectl cannot read: those of deleted pods, and of the cluster's own processes."""

import contextlib
import os
import pathlib
import shutil
import threading

from cluster_setup.state import Cluster
from runner.chart import NAMESPACE

SECONDS_BETWEEN_LOOKS = 0.5
TAIL_BYTES = 4 << 20  # of a log of the cluster's own


class KeptPodLogs:
    """From start to end, makes hard links to the log files of the pods of a namespace and of the operator, so that the
    logs outlive the pods."""

    def __init__(self, cluster, namespace):
        self.folder = cluster.folder / "kept-logs" / namespace
        self._cluster = cluster
        self._prefixes = (f"{namespace}_", f"{NAMESPACE}_")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking)

    @classmethod
    def of_this_cluster(cls, namespace):
        return cls(this_cluster(), namespace)

    def start(self):
        self._thread.start()

    def end(self):
        """Ends the thread and removes the kept logs. Copies in reports stay."""
        self._ended.set()
        self._thread.join()
        shutil.rmtree(self.folder, ignore_errors=True)

    def look(self):
        for pods in self._cluster.folder.glob("n*/pods"):
            for log in pods.glob("*/*/*"):  # NAMESPACE_POD_UID/CONTAINER/RESTARTS.log
                if not log.parts[-3].startswith(self._prefixes):
                    continue
                kept = self.folder / pods.parent.name / log.relative_to(pods)
                if kept.exists() and not kept.samefile(log):  # a new file: the full log has been renamed
                    kept = kept.with_name(f"{kept.name}.{log.stat().st_ino}")
                if not kept.exists():
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    os.link(log, kept)

    def _keep_looking(self):
        while not self._ended.wait(SECONDS_BETWEEN_LOOKS):
            with contextlib.suppress(OSError):  # a pod was deleted during the poll; the next poll follows soon
                self.look()


def this_cluster():
    """Returns the cluster of e2e/cluster on which the scenarios run; None if it is another cluster."""
    name = os.environ.get("ESPALIER_E2E_CLUSTER")
    return Cluster(name) if name else None


def copy(cluster, namespace, folder):
    """Copies the kept logs of a namespace, and the end of each log of the cluster's processes, to an existing folder."""
    kept = cluster.folder / "kept-logs" / namespace
    if kept.is_dir():
        shutil.copytree(kept, folder / "pods", dirs_exist_ok=True)
    (folder / "cluster").mkdir(exist_ok=True)
    for log in sorted(cluster.logs.glob("*.log")):
        (folder / "cluster" / log.name).write_bytes(_tail(log))


def _tail(log: pathlib.Path):
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        return file.read()
