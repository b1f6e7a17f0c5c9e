"""Prometheus scrapes the pods that the chart's two monitors select, with the labels that they set."""

import re
import unittest

from cluster_setup import scraping
from cluster_setup.pod_discovery import targets
from cluster_setup.state import SOURCE
from runner import chart

MONITORS = (SOURCE / "helm/espalier/templates/metrics.yaml").read_text()
HELPERS = (SOURCE / "helm/espalier/templates/_helpers.tpl").read_text()


def pod(name, labels, ports, namespace="ml", phase="Running", address="10.244.1.7"):
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {"containers": [{"name": name.split("-")[1], "ports": [
                {"name": port, "containerPort": number} for port, number in ports.items()]}]},
            "status": {"phase": phase, **({"podIP": address} if address else {})}}


OF_JOB = {"app.kubernetes.io/managed-by": "espalier-operator", "app.kubernetes.io/name": "espalier",
          "espalier.io/job": "cora"}
TRAINER = {**OF_JOB, "app.kubernetes.io/component": "trainer", "espalier.io/incarnation": "2"}
SERVER = {**OF_JOB, "app.kubernetes.io/component": "server"}
OPERATOR = {"app.kubernetes.io/name": "espalier", "app.kubernetes.io/instance": "espalier",
            "app.kubernetes.io/component": "operator", "app.kubernetes.io/managed-by": "Helm"}
PODS = [
    pod("cora-trainer-2-0-abcde", TRAINER, {"trainer": 7200, "admin": 9090}),
    pod("cora-server-0-0", SERVER, {"server": 7000, "admin": 9090}, address="10.244.2.3"),
    pod("espalier-operator-1234-abcde", OPERATOR, {"admin": 9090}, namespace="espalier-system", address="10.244.2.4"),
    # Not scraped: a pod that has ended, one without an address, another release's operator, a pod without a job.
    pod("cora-trainer-1-0-abcde", TRAINER, {"admin": 9090}, phase="Failed"),
    pod("cora-server-0-1", SERVER, {"admin": 9090}, phase="Pending", address=""),
    pod("other-operator-1234-abcde", OPERATOR, {"admin": 9090}, namespace="other"),
    pod("some-web-0", {"app": "web"}, {"admin": 9090}),
]


def relabeled(labels, rules):
    """Relabels a target as Prometheus does, for the actions that scraping.py uses. Returns None if it is dropped."""
    labels = dict(labels)
    for rule in rules:
        value = ";".join(labels.get(label, "") for label in rule.get("source_labels", []))
        matches = re.fullmatch(rule.get("regex", "(.*)"), value)
        action = rule.get("action", "replace")
        if (action == "keep" and not matches) or (action == "drop" and matches):
            return None
        if action == "replace" and matches:
            new = rule.get("replacement", "$1").replace("$1", matches.group(1) if matches.groups() else "")
            labels[rule["target_label"]] = new
    return {name: value for name, value in labels.items() if not name.startswith("__")}


class ScrapingTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.configs = {config["job_name"]: config for config in scraping.configuration([])["scrape_configs"]}

    def scraped(self, job):
        found = {}
        for target in targets(PODS):
            labels = relabeled(target["labels"], self.configs[job]["relabel_configs"])
            if labels is not None:
                found[target["targets"][0]] = labels
        return found

    def test_pods_of_jobs_have_the_labels_of_alerts_and_dashboards(self):
        common = {"namespace": "ml", "espalier_io_job": "cora", "job": "espalier-system/espalier-jobs"}
        self.assertEqual(self.scraped("jobs"), {
            "10.244.1.7:9090": {**common, "pod": "cora-trainer-2-0-abcde", "container": "trainer",
                                "app_kubernetes_io_component": "trainer", "espalier_io_incarnation": "2"},
            "10.244.2.3:9090": {**common, "pod": "cora-server-0-0", "container": "server",
                                "app_kubernetes_io_component": "server"}})

    def test_the_operator_is_scraped_as_its_service(self):
        self.assertEqual(self.scraped("operator"), {
            "10.244.2.4:9090": {"namespace": "espalier-system", "pod": "espalier-operator-1234-abcde",
                                "container": "operator", "service": "espalier-operator-metrics",
                                "job": "espalier-operator-metrics", "endpoint": "metrics"}})

    def test_the_chart_has_the_same_settings(self):
        pod_monitor = MONITORS.split("kind: PodMonitor")[1]
        self.assertIn("app.kubernetes.io/managed-by: espalier-operator\n", pod_monitor)
        labels = re.search(r"podTargetLabels: \[(.*)\]", pod_monitor).group(1)
        self.assertEqual(labels.split(", "), scraping.POD_TARGET_LABELS)
        self.assertIn(f'[__meta_kubernetes_pod_container_port_name], regex: "{scraping.PORTS_OF_JOBS}", action: keep',
                      pod_monitor)
        service_monitor = MONITORS.split("kind: ServiceMonitor")[1].split("kind: PodMonitor")[0]
        self.assertIn("{port: metrics, ", service_monitor)
        self.assertIn("{name: metrics, port: 9090, targetPort: admin}", MONITORS)
        selector = re.search(r'define "espalier.selector" -\}\}\n(.*?)\{\{', HELPERS.replace(
            "{{ .Release.Name | quote }}", chart.RELEASE), re.DOTALL).group(1)
        self.assertEqual(dict(line.split(": ") for line in selector.splitlines()),
                         {name: value for name, value in OPERATOR.items() if "managed-by" not in name})
        self.assertEqual((scraping.RELEASE, scraping.NAMESPACE), (chart.RELEASE, chart.NAMESPACE))


if __name__ == "__main__":
    unittest.main()
