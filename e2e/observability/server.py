"""Starts a Prometheus on a free loopback port, with the chart's alerts and its data in a folder of the test."""

import json
import os
import pathlib
import re
import shutil
import urllib.request

from control_plane.processes import Program, wait_until

from .dashboards import ALERTS
from .prometheus import Prometheus

SCRAPE_SECONDS = 1


def tool(name):
    """Returns the path of prometheus or promtool: in ESPALIER_PROMETHEUS, the folder that e2e/tools/build.sh prometheus
    prints, or else in PATH."""
    folder = os.environ.get("ESPALIER_PROMETHEUS")
    found = shutil.which(name, path=folder) if folder else shutil.which(name)
    if not found:
        raise SystemExit(f"no {name}: set ESPALIER_PROMETHEUS to the output of e2e/tools/build.sh prometheus")
    return found


class Server:
    """A context manager that ends Prometheus on exit."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "prometheus.log"

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scrape([])
        # JSON is YAML.
        (self.folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": f"{SCRAPE_SECONDS}s", "evaluation_interval": f"{SCRAPE_SECONDS}s"},
            "rule_files": [str(ALERTS)],
            "scrape_configs": [{"job_name": "espalier", "file_sd_configs": [{"files": ["targets.json"],
                                                                             "refresh_interval": "1s"}]}]}))
        self.program = Program([tool("prometheus"), f"--config.file={self.folder}/prometheus.yml",
                                "--web.listen-address=127.0.0.1:0", f"--storage.tsdb.path={self.folder}/data",
                                "--log.level=info"], str(self.log))
        try:
            address = wait_until(self._address, 60, "prometheus listens")
            self.url = f"http://{address}"
            self.api = Prometheus(self.url)
            wait_until(self._is_ready, 60, "prometheus is ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.program.stop(seconds=20)

    def scrape(self, targets):
        """Sets the targets, [(address, labels)]."""
        # Replaced atomically, because Prometheus may read the file at any time.
        staged = self.folder / "targets.staged"
        staged.write_text(json.dumps([{"targets": [address], "labels": labels} for address, labels in targets]))
        staged.replace(self.folder / "targets.json")

    def _address(self):
        if not self.program.is_running():
            raise RuntimeError("prometheus has ended:\n" + self.program.last_lines())
        found = re.search(r'msg="Listening on" address=(\S+)', self.log.read_text(errors="replace"))
        return found and found.group(1)

    def _is_ready(self):
        """Prometheus listens before it is ready, and responds with 503 until then."""
        try:
            urllib.request.urlopen(f"{self.url}/-/ready", timeout=10).close()
            return True
        except OSError:  # HTTPError is one
            return False
