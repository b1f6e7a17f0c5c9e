"""helm/push with the real helm and a registry in this process. The pushed chart is then pulled from the registry."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from oci_registry import OciRegistry, digest_of

HELM_FOLDER = pathlib.Path(__file__).resolve().parents[1]
PUSH = HELM_FOLDER / "push"
HELM = pathlib.Path(os.environ["ESPALIER_HELM"]) / "helm"
VERSION = re.search(r"^version: (\S+)$", (HELM_FOLDER / "espalier/Chart.yaml").read_text(), re.MULTILINE)[1]
CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


class PushTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="espalier-push-")))
        self.environment = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "ESPALIER_HELM": str(HELM.parent)}
        self.registry = self.enterContext(OciRegistry())

    def run_program(self, *arguments):
        return subprocess.run([str(one) for one in arguments], capture_output=True, text=True, timeout=60,
                              env=self.environment, cwd=self.folder)

    def push(self, *arguments):
        return self.run_program(PUSH, f"oci://{self.registry.address}/charts", "--plain-http", *arguments)

    def test_prints_the_digest_in_the_registry(self):
        done = self.push()
        self.assertEqual(done.returncode, 0, done.stderr)
        kind, manifest = self.registry.manifests["charts/espalier", VERSION]
        self.assertEqual(done.stdout, f"{self.registry.address}/charts/espalier@{digest_of(manifest)}\n")
        self.assertEqual(kind, "application/vnd.oci.image.manifest.v1+json")
        self.assertEqual(list(self.folder.glob("**/*.tgz")), [])

    def test_the_archive_that_stays_is_the_one_that_was_pushed(self):
        done = self.push("--version", "7.8.9", "--output", self.folder / "archives")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, manifest = self.registry.manifests["charts/espalier", "7.8.9"]
        [layer] = [one for one in json.loads(manifest)["layers"] if one["mediaType"] == CHART_LAYER]
        self.assertEqual(digest_of((self.folder / "archives/espalier-7.8.9.tgz").read_bytes()), layer["digest"])

    def test_helm_renders_the_chart_from_the_registry(self):
        self.assertEqual(self.push().returncode, 0)
        chart = f"oci://{self.registry.address}/charts/espalier"
        done = self.run_program(HELM, "template", "espalier", chart, "--version", VERSION, "--plain-http", "--kube-version", "1.33.0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("name: espalier-operator", done.stdout)

    def test_reports_a_registry_that_cannot_be_reached(self):
        with OciRegistry() as gone:
            address = gone.address
        done = self.run_program(PUSH, f"oci://{address}/charts", "--plain-http")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.splitlines()[-1], "helm/push: helm push ended with exit status 1")
        self.assertIn("connection refused", done.stderr)

    def test_reports_a_missing_helm(self):
        self.environment["ESPALIER_HELM"] = str(self.folder)
        done = self.push()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"helm/push: {self.folder}/helm is missing: install helm, or set ESPALIER_HELM to its folder\n")

    def test_refuses_an_invalid_registry_address(self):
        done = self.run_program(PUSH, "https://registry.example.com/charts")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'https://registry.example.com/charts': expected oci://HOST or oci://HOST/PATH", done.stderr)


if __name__ == "__main__":
    unittest.main()
