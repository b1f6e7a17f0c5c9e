"""The chart's OLM bundle as operator-registry and the current validators of operator-framework read it: the program
validate_bundle of the folder ESPALIER_OLM_TOOLS (e2e/tools/build.sh olm). ESPALIER_HELM is helm's folder."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import yaml

from chart_bundle import write_bundle

TOOLS = os.environ.get("ESPALIER_OLM_TOOLS")
HELM = os.environ.get("ESPALIER_HELM")
VERSION = "manifests/espalier.clusterserviceversion.yaml"
# The bundle has no icon. Rules name groups without versions, so every rule about events or budgets gets the second warning; the
# operator uses policy/v1 and events.k8s.io/v1.
EXPECTED_WARNINGS = {
    "warning: (espalier.v0.1.0) csv.Spec.Icon not specified",
    "warning: this bundle is using APIs which were deprecated and removed in v1.25."}


@unittest.skipUnless(TOOLS, "ESPALIER_OLM_TOOLS is not set: build validate_bundle with e2e/tools/build.sh olm")
@unittest.skipUnless(HELM, "ESPALIER_HELM is not set: build helm with e2e/tools/build.sh helm")
class BundleTest(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-bundle-"))
        self.addCleanup(shutil.rmtree, folder)
        self.bundle = folder / "bundle"
        write_bundle(HELM, self.bundle)

    def findings(self, status):
        """Lines of validate_bundle."""
        done = subprocess.run([pathlib.Path(TOOLS) / "validate_bundle", self.bundle], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def errors(self):
        return [line for line in self.findings(1) if line.startswith("error: ")]

    def change(self, name, change):
        path = self.bundle / name
        value = yaml.safe_load(path.read_text())
        change(value)
        path.write_text(yaml.safe_dump(value))

    def test_the_bundle_is_accepted(self):
        self.assertEqual({line.partition(" More info: ")[0] for line in self.findings(0)}, EXPECTED_WARNINGS)

    def test_a_wrong_media_type_is_found(self):
        key = "operators.operatorframework.io.bundle.mediatype.v1"
        self.change("metadata/annotations.yaml", lambda file: file["annotations"].update({key: "plain+v0"}))
        self.assertEqual(self.errors(), [f'error: Expecting annotation "{key}" to have value "registry+v1" instead of "plain+v0"'])

    def test_a_kind_that_bundles_cannot_contain_is_found(self):
        (self.bundle / "manifests/job.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\n")
        self.assertIn(f"error: Job is not supported type for registryV1 bundle: {self.bundle}/manifests/job.yaml", self.errors())

    def test_an_unknown_category_is_found(self):
        self.change(VERSION, lambda version: version["metadata"]["annotations"].update(categories="Gardening"))
        [error] = self.errors()
        self.assertIn('"Gardening"', error)

    def test_a_definition_that_is_missing_is_found(self):
        (self.bundle / "manifests/espalier.io_disttrainings.yaml").unlink()
        self.assertTrue(any("espalier.io/v1alpha1, Kind=DistTraining" in line for line in self.errors()))


if __name__ == "__main__":
    unittest.main()
