"""The OLM bundle of the chart, for tests."""

import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def write_bundle(helm, folder):
    """Writes the bundle of the chart, as README.md shows it, to `folder`; `helm` is helm's folder."""
    rendered = subprocess.run(
        [pathlib.Path(helm) / "helm", "template", "espalier", REPOSITORY / "helm/espalier", "--namespace", "espalier-system",
         "--kube-version", "1.33.0", "--set", "networkPolicy.enabled=false",
         "--set", "image.core=reg.example.com/espalier-core,image.trainer=reg.example.com/espalier-trainer",
         "--set", "image.trainerCuda=reg.example.com/espalier-trainer-cuda"],
        stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    subprocess.run([sys.executable, REPOSITORY / "operator/packaging/olm", "--output", folder], input=rendered.stdout, text=True,
                   timeout=60, check=True)
