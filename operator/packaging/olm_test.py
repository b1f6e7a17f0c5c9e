"""operator/packaging/olm: the bundle's structure, from objects as the chart renders them, and, where helm is there (ESPALIER_HELM), from
the chart itself. Neither opm nor operator-sdk runs here."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
HELM = os.environ.get("ESPALIER_HELM")
LABELS = {"app.kubernetes.io/name": "espalier", "app.kubernetes.io/instance": "espalier",
          "app.kubernetes.io/component": "operator"}
OWN = LABELS | {"app.kubernetes.io/version": "1.2.3", "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "espalier-1.2.3"}
RULES = yaml.safe_load_all((REPOSITORY / "operator/rbac/role.yaml").read_text())
ROLE, LEASE_ROLE = [one["rules"] for one in RULES]
PREFIX = "operators.operatorframework.io.bundle."


def of(kind, name, version="v1", namespaced=True, **fields):
    metadata = {"name": name, "labels": OWN} | ({"namespace": "espalier-system"} if namespaced else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata} | fields


def binding(kind, role_kind, name):
    return of(kind, name, "rbac.authorization.k8s.io/v1", kind == "RoleBinding",
              roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": name},
              subjects=[{"kind": "ServiceAccount", "name": "espalier-operator", "namespace": "espalier-system"}])


def rendered():
    """The objects that helm renders from the chart, without fields that do not matter here."""
    definition = yaml.safe_load((REPOSITORY / "crds/disttrainings.yaml").read_text())
    definition["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    container = {"name": "operator", "image": "reg.example.com/espalier-core:1.2.3", "args": [
        "--cluster-wide", "--core-image=reg.example.com/espalier-core:1.2.3",
        "--trainer-image=reg.example.com/espalier-trainer:1.2.3",
        "--trainer-cuda-image=reg.example.com/espalier-trainer-cuda:1.2.3"]}
    rbac = "rbac.authorization.k8s.io/v1"
    return [
        of("ServiceAccount", "espalier-operator"), definition,
        of("ClusterRole", "espalier-operator", rbac, False, rules=ROLE),
        of("ClusterRole", "espalier-editor", rbac, False, rules=[{"apiGroups": ["espalier.io"], "resources": ["disttrainings"],
                                                                  "verbs": ["create"]}]),
        binding("ClusterRoleBinding", "ClusterRole", "espalier-operator"),
        of("Role", "espalier-operator-leader", rbac, rules=LEASE_ROLE),
        binding("RoleBinding", "Role", "espalier-operator-leader"),
        of("Service", "espalier-operator-metrics", spec={"selector": LABELS, "ports": [{"name": "metrics", "port": 9090}]}),
        of("Deployment", "espalier-operator", "apps/v1", spec={
            "replicas": 1, "selector": {"matchLabels": LABELS}, "template": {
                "metadata": {"labels": OWN},
                "spec": {"serviceAccountName": "espalier-operator", "containers": [container]}}})]


class OlmTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-olm-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.bundle = self.folder / "bundle"

    def olm(self, objects, status=0):
        """Standard error of operator/packaging/olm."""
        text = objects if isinstance(objects, str) else yaml.safe_dump_all(objects)
        done = subprocess.run([sys.executable, REPOSITORY / "operator/packaging/olm", "--output", self.bundle], input=text,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def read(self, name):
        return yaml.safe_load((self.bundle / name).read_text())

    def version(self):
        return self.read("manifests/espalier.clusterserviceversion.yaml")

    def check_structure(self):
        """What OLM requires of a bundle: annotations, one ClusterServiceVersion, and each owned definition beside it."""
        version, labels = self.version(), self.read("metadata/annotations.yaml")["annotations"]
        self.assertEqual(labels, {
            PREFIX + "mediatype.v1": "registry+v1", PREFIX + "manifests.v1": "manifests/", PREFIX + "metadata.v1": "metadata/",
            PREFIX + "package.v1": "espalier", PREFIX + "channels.v1": "candidate",
            PREFIX + "channel.default.v1": "candidate"})
        lines = (self.bundle / "bundle.Dockerfile").read_text().splitlines()
        self.assertEqual({line for line in lines if line.startswith("LABEL ")},
                         {f"LABEL {name}={value}" for name, value in labels.items()})
        self.assertEqual((version["apiVersion"], version["kind"]), ("operators.coreos.com/v1alpha1", "ClusterServiceVersion"))
        spec = version["spec"]
        self.assertEqual(version["metadata"]["name"], f"espalier.v{spec['version']}")
        self.assertRegex(spec["version"], r"^\d+\.\d+\.\d+$")
        self.assertRegex(spec["minKubeVersion"], r"^\d+\.\d+\.\d+$")
        self.assertLessEqual({"displayName", "description", "maturity", "provider", "keywords"}, spec.keys())
        self.assertEqual({mode["type"]: mode["supported"] for mode in spec["installModes"]}, {
            "OwnNamespace": False, "SingleNamespace": False, "MultiNamespace": False, "AllNamespaces": True})
        self.assertEqual(spec["install"]["strategy"], "deployment")
        definitions = {one["metadata"]["name"]: one for one in map(self.read, self.manifests())
                       if one["kind"] == "CustomResourceDefinition"}
        owned = spec["customresourcedefinitions"]["owned"]
        self.assertEqual({(one["name"], one["version"], one["kind"]) for one in owned}, {
            (name, served["name"], one["spec"]["names"]["kind"]) for name, one in definitions.items()
            for served in one["spec"]["versions"] if served["served"]})
        examples = json.loads(version["metadata"]["annotations"]["alm-examples"])
        self.assertEqual({one["kind"] for one in examples}, {one["kind"] for one in owned})

    def manifests(self):
        return [f"manifests/{path.name}" for path in sorted((self.bundle / "manifests").iterdir())]

    def test_the_bundle_has_what_olm_requires(self):
        self.olm(rendered())
        self.check_structure()
        self.assertEqual(self.version()["spec"]["version"], "1.2.3")

    def test_deployment_and_permissions_match_the_chart(self):
        self.olm(rendered())
        install = self.version()["spec"]["install"]["spec"]
        self.assertEqual(install["clusterPermissions"], [{"serviceAccountName": "espalier-operator", "rules": ROLE}])
        self.assertEqual(install["permissions"], [{"serviceAccountName": "espalier-operator", "rules": LEASE_ROLE}])
        [deployment] = install["deployments"]
        self.assertEqual(deployment["name"], "espalier-operator")
        self.assertEqual(deployment["spec"]["template"]["spec"], rendered()[-1]["spec"]["template"]["spec"])

    def test_images_are_listed(self):
        self.olm(rendered())
        self.assertEqual(self.version()["spec"]["relatedImages"], [
            {"name": "core", "image": "reg.example.com/espalier-core:1.2.3"},
            {"name": "trainer", "image": "reg.example.com/espalier-trainer:1.2.3"},
            {"name": "trainer-cuda", "image": "reg.example.com/espalier-trainer-cuda:1.2.3"}])
        self.assertEqual(self.version()["metadata"]["annotations"]["containerImage"], "reg.example.com/espalier-core:1.2.3")

    def test_labels_of_helm_and_the_namespace_are_removed(self):
        self.olm(rendered())
        self.assertEqual(self.manifests(), [f"manifests/{name}" for name in (
            "espalier-editor.clusterrole.yaml", "espalier-operator-metrics.service.yaml", "espalier.clusterserviceversion.yaml",
            "espalier.io_disttrainings.yaml")])
        for name in self.manifests():
            text = (self.bundle / name).read_text()
            self.assertIsNone(re.search("helm.sh|managed-by|espalier-system", text), name)

    def test_unsupported_objects_are_an_error(self):
        message = self.olm([*rendered(), of("NetworkPolicy", "espalier-operator", "networking.k8s.io/v1")], status=1)
        self.assertEqual(message, "operator/packaging/olm: NetworkPolicy espalier-operator: the bundle cannot contain this kind; "
                                  "render the chart without it\n")

    def test_unexpected_yaml_is_an_error(self):
        for text in ("a: [", "Error: chart not found", "kind: Deployment\n"):
            with self.subTest(text):
                message = self.olm(text, status=1)
                self.assertTrue(message.startswith("operator/packaging/olm: standard input: expected what helm template writes"), message)
        self.assertEqual(self.olm("", status=1),
                         "operator/packaging/olm: expected one Deployment among the rendered objects, found 0\n")

    def test_an_operator_of_one_namespace_is_an_error(self):
        objects = [one for one in rendered() if one["kind"] != "ClusterRoleBinding"]
        self.assertIn("no ClusterRoleBinding grants a ClusterRole to the service account espalier-operator: expected "
                      "rbac.create=true and operator.clusterWide=true", self.olm(objects, status=1))

    def test_an_image_without_a_registry_is_an_error(self):
        text = yaml.safe_dump_all(rendered()).replace("reg.example.com/", "")
        self.assertIn("the core image is espalier-core:1.2.3: a catalog needs an image with its registry", self.olm(text, status=1))
        text = yaml.safe_dump_all(rendered()).replace("reg.example.com/espalier-trainer-cuda", "espalier-trainer-cuda")
        self.assertIn("the trainer-cuda image is espalier-trainer-cuda:1.2.3: a catalog needs an image with its registry (--set "
                      "image.trainerCuda=...)", self.olm(text, status=1))

    def test_a_nonempty_folder_is_not_changed(self):
        self.bundle.mkdir()
        (self.bundle / "mine").touch()
        self.assertIn("is not empty: name another folder", self.olm(rendered(), status=1))
        self.assertEqual([path.name for path in self.bundle.iterdir()], ["mine"])

    @unittest.skipUnless(HELM, "ESPALIER_HELM is not set")
    def test_the_chart_becomes_a_bundle(self):
        done = subprocess.run(
            [pathlib.Path(HELM) / "helm", "template", "espalier", REPOSITORY / "helm/espalier", "--namespace", "espalier-system",
             "--kube-version", "1.33.0", "--set", "networkPolicy.enabled=false",
             "--set", "image.core=reg.example.com/espalier-core,image.trainer=reg.example.com/espalier-trainer",
             "--set", "image.trainerCuda=reg.example.com/espalier-trainer-cuda"],
            capture_output=True, text=True, timeout=60, check=True)
        self.olm(done.stdout)
        self.check_structure()
        install = self.version()["spec"]["install"]["spec"]
        self.assertEqual(install["clusterPermissions"][0]["rules"], ROLE)
        self.assertEqual(install["permissions"][0]["rules"], LEASE_ROLE)


if __name__ == "__main__":
    unittest.main()
