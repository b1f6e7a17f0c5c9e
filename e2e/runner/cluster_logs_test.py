"""Logs outlive their pods while a scenario runs, and are in its report."""

import pathlib
import shutil
import tempfile
import unittest

from cluster_setup.state import Cluster
from runner import cluster_logs
from runner.cluster_logs import KeptPodLogs


class ClusterLogsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.cluster = Cluster("t1")
        self.cluster.folder, self.cluster.logs = self.root / "cluster", self.root / "cluster/log"
        self.cluster.logs.mkdir(parents=True)

    def log_of(self, node, pod, text):
        folder = self.cluster.folder / node / "pods" / pod / "server"
        folder.mkdir(parents=True)
        (folder / "0.log").write_text(text)
        return folder.parent

    def test_logs_of_namespace_and_operator_outlive_their_pods(self):
        kept = KeptPodLogs(self.cluster, "e2e-scenario-1")
        pods = [self.log_of("n1", "e2e-scenario-1_cora-server-0-0_uid1", "first\n"),
                self.log_of("n2", "espalier-system_espalier-operator-1_uid2", "operator\n"),
                self.log_of("n2", "e2e-scenario-12_cora-server-0-0_uid3", "of another scenario\n")]
        kept.look()
        log = pods[1] / "server/0.log"
        log.rename(log.with_name("0.log.20261126"))
        log.write_text("after the first was full\n")
        kept.look()
        with (pods[0] / "server/0.log").open("a") as log:
            log.write("last words\n")
        for pod in pods:
            shutil.rmtree(pod)
        kept.look()
        (self.cluster.logs / "etcd.log").write_bytes(b"x" * cluster_logs.TAIL_BYTES + b"the end")
        report = self.root / "report"
        report.mkdir()
        cluster_logs.copy(self.cluster, "e2e-scenario-1", report)
        texts = {str(path.relative_to(report)): path.read_text() for path in report.rglob("*.log")}
        self.assertEqual(len(texts.pop("cluster/etcd.log")), cluster_logs.TAIL_BYTES)
        self.assertEqual(texts, {"pods/n1/e2e-scenario-1_cora-server-0-0_uid1/server/0.log": "first\nlast words\n",
                                 "pods/n2/espalier-system_espalier-operator-1_uid2/server/0.log": "operator\n"})
        self.assertEqual({path.read_text() for path in report.rglob("*uid2/server/*")},
                         {"operator\n", "after the first was full\n"})

    def test_collection_runs_in_the_background_and_leaves_nothing(self):
        kept = KeptPodLogs(self.cluster, "e2e-scenario-1")
        looked, look = [], kept.look

        def look_at_last():
            looked.append(None)
            if len(looked) == 1:
                raise FileNotFoundError("a pod's folder, in the middle of the look")
            look()

        kept.look = look_at_last
        self.log_of("n1", "e2e-scenario-1_cora-server-0-0_uid1", "first\n")
        kept.start()
        while not kept.folder.exists():
            kept._ended.wait(0.01)  # pylint: disable=protected-access
        kept.end()
        self.assertFalse(kept.folder.exists())


if __name__ == "__main__":
    unittest.main()
