"""`espalier run` of Cora over an S3 service, with TLS, for as long as it is wanted."""

import json
import os
import pathlib
import urllib.error
import urllib.request

from control_plane.api_server import REPOSITORY
from control_plane.operator_process import program
from control_plane.processes import Program, free_port, wait_until

ROLES = ("server", "sampler", "trainer")
KEY, SECRET = "espalier", "espalier-observability"
STARTS = 3  # somebody may take a port before we do


class LocalRun:
    """Ends all that it has started on leaving."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.programs = []

    def __enter__(self):
        (self.folder / "s3" / "bucket").mkdir(parents=True)
        try:
            self._start_gateway()
            self._start_run()
            wait_until(self._is_training, 180, "trainers are ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # The run first: it ends its own processes, and needs the bucket for that.
        for one in reversed(self.programs):
            one.stop(seconds=60)

    def targets(self, namespace):
        """[(address, labels)] of its processes, labelled as pods of a DistTraining are."""
        found = []
        for path in sorted((self.folder / "out" / "run").glob("*.json")):
            role, _, rank = path.stem.rpartition("-")
            address = json.loads(path.read_text()).get("adminAddress") if role in ROLES else None
            if address:
                found.append((address, {"namespace": namespace, "pod": f"{self.name}-{role}-{rank}",
                                        "espalier_io_job": self.name, "app_kubernetes_io_component": role}))
        return found

    def _start_gateway(self):
        versitygw = os.environ.get("ESPALIER_VERSITYGW")
        if not versitygw:
            raise SystemExit("ESPALIER_VERSITYGW names no program: export it as $(e2e/tools/build.sh s3)/versitygw")
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
            return True  # it refuses who does not say who he is
        except OSError:
            return False
        return True

    def _start_run(self):
        settings = {
            "metadata.name": self.name, "spec.graph.source.uri": REPOSITORY / "services" / "examples" / "cora",
            "spec.graph.partitions.uri": "s3://bucket/partitions", "spec.output.uri": "s3://bucket/out",
            "spec.storage.s3.endpoint": self.endpoint, "spec.storage.s3.region": "eu-north-1",
            # As long as somebody looks.
            "spec.training.epochs": 1000000, "spec.training.batchSize": 35, "spec.checkpoint.every.seconds": 5,
            "spec.samplers.replicas": 1}
        sets = [part for path, value in settings.items() for part in ("--set", f"{path}={value}")]
        espalier = str(pathlib.Path(program()).with_name("espalier"))
        self.run = Program(
            [espalier, "run", "-f", str(REPOSITORY / "services" / "examples" / "cora.yaml"), "--output",
             str(self.folder / "out"), "--tls", "--access", "rpc", *sets], str(self.folder / "run.log"),
            {**os.environ, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
             "XDG_CACHE_HOME": str(self.folder / "cache")})
        self.programs.append(self.run)

    def _is_training(self):
        if not self.run.is_running():
            raise RuntimeError("espalier run has ended:\n" + self.run.last_lines())
        return sum(labels["app_kubernetes_io_component"] == "trainer" for _, labels in self.targets("")) == 2
