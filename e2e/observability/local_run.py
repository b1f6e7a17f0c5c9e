"""Starts `espalier run` of Cora with an S3 service and TLS, and a partitioner that waits for a second one that never
starts. Both run until the test ends."""

import json
import os
import pathlib
import urllib.error
import urllib.request

from control_plane.api_server import REPOSITORY
from control_plane.operator_process import program
from control_plane.processes import Program, free_port, wait_until

ROLES = ("server", "sampler", "trainer")
DOCUMENT = str(REPOSITORY / "services" / "examples" / "cora.yaml")
KEY, SECRET = "espalier", "espalier-observability"
STARTS = 3  # another process may take the free port first


class LocalRun:
    """A context manager that ends all started processes on exit."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.programs = []
        self.partitioner_ready = self.folder / "partitioner.json"

    def __enter__(self):
        (self.folder / "s3" / "bucket").mkdir(parents=True)
        try:
            self._start_gateway()
            self._start_run()
            self._start_partitioner()
            wait_until(self._is_training, 180, "trainers and a partitioner are ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # The run is ended first: it ends its own processes, and needs the bucket for that.
        for one in reversed(self.programs):
            one.stop(seconds=60)

    def targets(self, namespace):
        """Returns [(address, labels)] of its processes, with the labels of a DistTraining's pods."""
        found = []
        for path in sorted((self.folder / "out" / "run").glob("*.json")):
            role, _, rank = path.stem.rpartition("-")
            address = json.loads(path.read_text()).get("adminAddress") if role in ROLES else None
            if address:
                found.append((address, self._labels(namespace, role, f"{role}-{rank}")))
        if self.partitioner_ready.exists():
            address = json.loads(self.partitioner_ready.read_text())["adminAddress"]
            found.append((address, self._labels(namespace, "partitioner", "partition-1-0")))
        return found

    def _labels(self, namespace, role, pod):
        return {"namespace": namespace, "pod": f"{self.name}-{pod}", "espalier_io_job": self.name,
                "app_kubernetes_io_component": role}

    def _start_gateway(self):
        versitygw = os.environ.get("ESPALIER_VERSITYGW")
        if not versitygw:
            raise SystemExit("ESPALIER_VERSITYGW is not a program: set it to $(e2e/tools/build.sh s3)/versitygw")
        for attempt in range(STARTS):
            self.endpoint = f"http://127.0.0.1:{free_port()}"
            gateway = Program([versitygw, "--port", self.endpoint.removeprefix("http://"), "--region", "eu-north-1",
                               "posix", str(self.folder / "s3")], str(self.folder / "versitygw.log"),
                              {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET})
            self.programs.append(gateway)
            try:
                wait_until(lambda: self._answers(gateway), 30, "versitygw answers")
                return
            except (RuntimeError, TimeoutError):
                if attempt + 1 == STARTS:
                    raise
                self.programs.remove(gateway)
                gateway.kill()

    def _answers(self, gateway):
        if not gateway.is_running():
            raise RuntimeError("versitygw has ended:\n" + gateway.last_lines())
        try:
            urllib.request.urlopen(self.endpoint, timeout=5).close()
        except urllib.error.HTTPError:
            return True  # it rejects requests without credentials
        except OSError:
            return False
        return True

    def _settings(self, more):
        settings = {"metadata.name": self.name, "spec.graph.source.uri": REPOSITORY / "services" / "examples" / "cora",
                    "spec.storage.s3.endpoint": self.endpoint, "spec.storage.s3.region": "eu-north-1", **more}
        return [part for path, value in settings.items() for part in ("--set", f"{path}={value}")]

    def _environment(self):
        return {**os.environ, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
                "XDG_CACHE_HOME": str(self.folder / "cache")}

    def _start_run(self):
        sets = self._settings({
            "spec.graph.partitions.uri": "s3://bucket/partitions", "spec.output.uri": "s3://bucket/out",
            # Enough for any duration of the test.
            "spec.training.epochs": 1000000, "spec.training.batchSize": 35, "spec.checkpoint.every.seconds": 5,
            "spec.samplers.replicas": 1})
        self.run = Program(
            [self._beside_operator("espalier"), "run", "-f", DOCUMENT, "--output", str(self.folder / "out"), "--tls",
             "--access", "rpc", *sets], str(self.folder / "run.log"), self._environment())
        self.programs.append(self.run)

    def _start_partitioner(self):
        """Starts rank 0 of a group of two."""
        sets = self._settings({"spec.graph.partitions.algorithm": "Streaming"})
        self.partitioner = Program(
            [self._beside_operator("espalier-partitioner"), "--job", DOCUMENT, "--output", "s3://bucket/of-two",
             "--rank", "0", "--world-size", "2", "--group", "try-1", "--start-timeout-seconds", "86400",
             "--ready-file", str(self.partitioner_ready), *sets], str(self.folder / "partitioner.log"),
            self._environment())
        self.programs.append(self.partitioner)

    @staticmethod
    def _beside_operator(name):
        return str(pathlib.Path(program()).with_name(name))

    def _is_training(self):
        if not self.run.is_running():
            raise RuntimeError("espalier run has ended:\n" + self.run.last_lines())
        if not self.partitioner.is_running():
            raise RuntimeError("espalier-partitioner has ended:\n" + self.partitioner.last_lines())
        ready = [labels["app_kubernetes_io_component"] for _, labels in self.targets("")]
        return ready.count("trainer") == 2 and ready.count("partitioner") == 1
