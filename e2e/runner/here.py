"""Runs the command line on this machine: makes graphs, and runs the documents of scenarios as processes."""

import json
import os
import pathlib
import string
import sys

from runner.commands import attempt, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# The programs that all scenarios may call on this machine; kubectl finds the second one as `kubectl espalier`.
PROGRAM, PLUGIN = "espalier", "kubectl-espalier"


def missing_programs(further=()):
    """Returns the paths of the programs that are not built, among these and those named in `further`."""
    return [str(path) for path in map(beside, (PROGRAM, PLUGIN, *further)) if not os.access(path, os.X_OK)]


def beside(name):
    """Returns the path of a program or plugin that was built with the command line."""
    return pathlib.Path(os.environ["ESPALIER_E2E_CLI"]).with_name(name)


def test_data(name):
    """Returns a folder of data outside the repository, or None if this machine does not have it."""
    folder = os.environ.get("ESPALIER_TEST_DATA")
    return pathlib.Path(folder) / name if folder and (pathlib.Path(folder) / name).is_dir() else None


def generate(folder, *flags):
    """Makes a graph as a folder of arrays."""
    run([os.environ["ESPALIER_E2E_CLI"], "generate", "--output", folder, *flags])


def train(manifest, folder, *settings, **values):
    """Runs a manifest to its end, with `settings` as NAME=VALUE, in the folder `run` of an existing folder; returns its
    result.json. `espalier run` ignores credentials and images of the manifest."""
    known = {"endpoint": "http://127.0.0.1:1", "region": "us-east-1", "secret": "none", "image": "none",
             "output": folder / "run", **values}
    document = folder / "job.yaml"
    document.write_text(string.Template(manifest.read_text()).substitute(known))
    run([os.environ["ESPALIER_E2E_CLI"], "run", "-f", document, "--output", folder / "run",
         *(part for setting in settings for part in ("--set", setting))], timeout=180)
    return json.loads((folder / "run/result.json").read_text())


def links_of_cora(folder):
    """Makes the graph of services/examples/cora-links.yaml by the example's own script. It needs numpy."""
    run([_interpreter(), "-B", SOURCE / "services/examples/cora_links.py", folder], timeout=120)


def graph_of_scenarios(name, folder):
    """Makes one of the graphs that services/tests/scenarios/graph_folders.py makes by name. It needs numpy."""
    run([_interpreter(), "-B", SOURCE / "services/tests/scenarios/graph_folders.py", name, folder], timeout=120)


def has_numpy():
    return attempt([_interpreter(), "-c", "import numpy"]).returncode == 0


def _interpreter():
    """Returns the Python that ./test.sh prepares, or this one if it has not been prepared."""
    prepared = SOURCE / "build/python/bin/python"
    return prepared if prepared.exists() else sys.executable
