"""The chart on a real API server (e2e/control_plane). What it renders for many sets of values is applied as a dry run. Two
releases are installed and uninstalled, one of them in a namespace by a user without permissions for the cluster."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "e2e"))

from control_plane.api_server import ADMIN, REPOSITORY, ApiServer  # noqa: E402
from control_plane.processes import wait_until  # noqa: E402
from runner import pages  # noqa: E402

HELM = pathlib.Path(os.environ["ESPALIER_HELM"]) / "helm"
CHART = REPOSITORY / "helm/espalier"
NAMESPACE, OF_GRAFANA, OF_A_TEAM = "espalier-system", "monitoring", "of-a-team"
RELEASE, OF_RELEASE = "upgraded", "of-upgraded"  # a release that is installed, and its namespace
DEFINITION = "customresourcedefinition/disttrainings.espalier.io"
OPERATORS_ACCOUNT = f"system:serviceaccount:{OF_A_TEAM}:espalier-operator"
# The roles that Kubernetes aggregates to `admin`. Without controllers, the control plane does not aggregate them.
ROLES_OF_ADMIN = [f"system:aggregate-to-{role}" for role in ("admin", "edit", "view")]
DIGEST = "sha256:" + "0123456789abcdef" * 4
EVERYTHING_OF_METRICS = {
    "service": {"enabled": True, "annotations": {"prometheus.io/scrape": "true"}},
    "serviceMonitor": {"enabled": True, "interval": "1m30s", "labels": {"release": "prometheus"}},
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}, "disabled": ["EspalierOperatorDown"],
                       "runbookBaseUrl": "https://git.example.com/espalier/"},
    "dashboards": {"enabled": True, "namespace": OF_GRAFANA, "annotations": {"grafana_folder": "GNN"}}}
POD = {
    "operator": {
        "podAnnotations": {"example.com/note": "1"}, "podLabels": {"pool": "system"}, "nodeSelector": {"pool": "system"},
        "tolerations": [{"key": "pool", "operator": "Equal", "value": "system", "effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}]}}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                                       "whenUnsatisfiable": "DoNotSchedule",
                                       "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "espalier"}}}],
        "env": [{"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"}],
        "extraArgs": ["--log-level=debug"], "priorityClassName": "system-cluster-critical", "logFormat": "text",
        "runtimeClassName": "gvisor", "schedulerName": "default-scheduler"},
    "image": {"core": "registry.example.com/core", "trainer": "registry.example.com/trainer", "pullPolicy": "Always",
              "coreDigest": DIGEST, "trainerDigest": DIGEST},
    "imagePullSecrets": [{"name": "pull"}, {"name": "mirror"}],
    "extraLabels": {"team": "graphs"}}
VALUES = {
    "as it is": {},
    "one namespace": {"operator": {"clusterWide": False}},
    "one namespace, watched": {"operator": {"clusterWide": False}, "metrics": EVERYTHING_OF_METRICS},
    "everything of metrics": {"metrics": EVERYTHING_OF_METRICS},
    "metrics over HTTPS": {"metrics": EVERYTHING_OF_METRICS | {"secure": {"enabled": True, "secretName": "metrics-tls"}}},
    "metrics over HTTPS, of one namespace": {"operator": {"clusterWide": False},
                                             "metrics": EVERYTHING_OF_METRICS | {"secure": {"enabled": True}}},
    "no metrics": {"metrics": {"service": {"enabled": False}}},
    "no roles": {"rbac": {"create": False}},
    "no roles that aggregate": {"rbac": {"aggregate": False}},
    "no definition": {"crd": {"create": False}},
    "a definition that goes": {"crd": {"keep": False}},
    "what jobs get and may use": {"jobs": {
        "allowed": {"serviceAccounts": [], "images": ["registry.example.com/ml"], "secretLabel": "use=trainings",
                    "scripts": ["s3://code/approved"], "scriptEndpoint": "https://s3.example.com"},
        "defaults": {"template": {"spec": {"priorityClassName": "batch"}}}}},
    "no election": {"operator": {"leaderElection": {"enabled": False}}},
    "several replicas": {"operator": {"replicas": 3, "podDisruptionBudget": {"maxUnavailable": "50%"}}},
    "only these may scrape": {"networkPolicy": {"from": [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}},
        {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}},
    "no network policy": {"networkPolicy": {"enabled": False}},
    "an account that is there": {"serviceAccount": {"create": False, "name": "mine"}},
    "an account with annotations": {"serviceAccount": {"name": "mine", "annotations": {"example.com/role": "reader"}}},
    "all of the pod": POD,
    "a long name": {"fullnameOverride": "a-name-that-is-as-long-as-the-chart-takes-it"}}


def rendered(version, values):
    """Returns what `helm template` prints. JSON is YAML, so the values are passed to helm as JSON."""
    done = subprocess.run([HELM, "template", "espalier", CHART, "--namespace", NAMESPACE, "--kube-version", version,
                           "--values", "-"], input=json.dumps(values), capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class AppliedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="espalier-chart-"))
        cls.server = cls.enterClassContext(ApiServer(folder))
        cls.version = cls.server.api.request("GET", "/version")["gitVersion"]
        for name in (NAMESPACE, OF_GRAFANA, OF_RELEASE, OF_A_TEAM):
            cls.server.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        cls.server.apply(HERE / "prometheus_operator.yaml")
        waiting = cls.server.kubectl("wait", "--for=condition=Established", "--timeout=50s", "-f",
                                     HERE / "prometheus_operator.yaml")
        if waiting.returncode != 0:
            raise AssertionError(waiting.stderr)

    def apply(self, objects):
        # The server validates, not kubectl.
        return self.server.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-",
                                   "--output=name", stdin=objects)

    def test_rendered_objects_are_accepted(self):
        for name, values in VALUES.items():
            with self.subTest(name):
                objects = rendered(self.version, values)
                done = self.apply(objects)
                self.assertEqual(done.returncode, 0, done.stderr)
                taken = [line for line in done.stdout.splitlines() if line]
                self.assertEqual(len(taken), sum(line.startswith("kind: ") for line in objects.splitlines()), taken)

    def test_invalid_objects_are_refused(self):
        whole = rendered(self.version, {"metrics": EVERYTHING_OF_METRICS})
        for right, wrong, why in (("podTargetLabels:", "targetLabels:", "field not declared in schema"),
                                  ("action: keep", "action: stay", "Unsupported value"),
                                  ("  replicas: 1", "  replicas: -1", "must be greater than or equal to 0")):
            with self.subTest(wrong):
                spoilt = whole.replace(right, wrong)
                self.assertNotEqual(spoilt, whole, right)
                done = self.apply(spoilt)
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertIn(why, done.stderr)

    def test_an_upgrade_without_the_definition_leaves_it_with_its_jobs(self):
        # The definition of this release would conflict with those that other tests apply.
        self.addCleanup(self.kubectl, "delete", DEFINITION, "--ignore-not-found", "--timeout=50s")
        self.helm("install", RELEASE, CHART)
        self.addCleanup(self.helm, "uninstall", RELEASE)
        self.kubectl("wait", "--for=condition=Established", "--timeout=50s", DEFINITION)
        # The condition Established is True a moment before the API server serves the resource.
        wait_until(lambda: self.server.kubectl("apply", "--server-side", "--namespace", OF_RELEASE, "-f",
                                               REPOSITORY / "crds/examples/cora.yaml").returncode == 0, 50, "a job")
        before = self.identities()
        self.helm("upgrade", RELEASE, CHART, "--set", "crd.create=false")
        self.assertEqual(self.identities(), before)

    def test_namespaced_operators_install_as_documented(self):
        self.grant("team", *ROLES_OF_ADMIN)
        prepare, install = (block.replace("NAMESPACE", OF_A_TEAM) for block in pages.commands(
            "docs/operations/install.md", "### In one namespace, without cluster-admin"))
        refused = self.shell(install.replace("--set rbac.create=false", ""), "team")
        self.assertIn("forbidden", refused.stderr, refused.stdout)
        uninstall = f"helm uninstall espalier --namespace {OF_A_TEAM} --ignore-not-found"
        self.assertEqual(self.shell(uninstall, "team").returncode, 0)

        self.addCleanup(self.kubectl, "delete", DEFINITION, "--ignore-not-found", "--timeout=50s")
        self.assertEqual((done := self.shell(prepare, ADMIN)).returncode, 0, done.stderr)
        self.addCleanup(self.kubectl, "delete", "clusterrole", "espalier-editor", "espalier-viewer")
        self.kubectl("wait", "--for=condition=Established", "--timeout=50s", DEFINITION)
        self.addCleanup(self.shell, uninstall, "team")
        self.assertEqual((done := self.shell(install, "team")).returncode, 0, done.stderr)
        self.kubectl("get", "deployment/espalier-operator", "--namespace", OF_A_TEAM)

        self.assertTrue(self.may(OPERATORS_ACCOUNT, "patch", "disttrainings/status", OF_A_TEAM))
        self.assertTrue(self.may(OPERATORS_ACCOUNT, "create", "leases.coordination.k8s.io", OF_A_TEAM))
        self.assertFalse(self.may(OPERATORS_ACCOUNT, "get", "disttrainings", OF_RELEASE))
        self.grant("researcher", "espalier-editor")
        self.grant("reader", "espalier-viewer")
        for user, verbs in (("researcher", {"create", "get", "patch", "delete"}), ("reader", {"get"})):
            may = {verb for verb in ("create", "get", "patch", "delete")
                   if self.may(user, verb, "disttrainings", OF_A_TEAM)}
            self.assertEqual(may, verbs, user)
            self.assertFalse(self.may(user, "patch", "disttrainings/status", OF_A_TEAM))

    def grant(self, user, *roles):
        """Binds the roles to the user in the team's namespace."""
        for role in roles:
            self.kubectl("create", "rolebinding", f"{user}-{role}".replace(":", "-"), f"--clusterrole={role}",
                         f"--user={user}", "--namespace", OF_A_TEAM)

    def may(self, user, verb, resource, namespace):
        resource, _, subresource = resource.partition("/")
        answer = self.server.kubectl("auth", "can-i", verb, resource, f"--subresource={subresource}", "--namespace",
                                     namespace, f"--as={user}")
        self.assertIn(answer.stdout.strip(), ("yes", "no"), answer.stderr)
        return answer.stdout.strip() == "yes"

    def shell(self, commands, user):
        """Runs the commands in the repository, as the given user."""
        config = json.loads(pathlib.Path(self.server.kubeconfig(ADMIN)).read_text())
        if user != ADMIN:
            config["users"][0]["user"]["as"] = user
        file = self.server.folder / f"{user}-types.kubeconfig"
        file.write_text(json.dumps(config))
        return subprocess.run(["bash", "-o", "errexit", "-o", "pipefail", "-c", commands], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, cwd=REPOSITORY,
                              env={"HOME": str(self.server.folder), "KUBECONFIG": str(file),
                                   "PATH": f"{HELM.parent}:{self.server.tools}:/usr/bin:/bin"})

    def identities(self):
        """Returns uid and deletionTimestamp of the definition and of a job."""
        return [self.kubectl("get", name, "--namespace", OF_RELEASE,
                             "--output=jsonpath={.metadata.uid} deleted: {.metadata.deletionTimestamp}")
                for name in (DEFINITION, "disttraining/cora")]

    def kubectl(self, *arguments):
        done = self.server.kubectl(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def helm(self, *arguments):
        where = ("--namespace", OF_RELEASE, "--kubeconfig", self.server.kubeconfig(ADMIN))
        done = subprocess.run([HELM, *arguments, *where], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, env={"HOME": str(self.server.folder), "PATH": "/usr/bin:/bin"})
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
