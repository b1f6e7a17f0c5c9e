"""The targets that Prometheus scrapes: those of the chart's ServiceMonitor and PodMonitor, with the labels that they add.

The rules are those that Prometheus Operator makes of the two (helm/espalier/templates/metrics.yaml) for the release of
runner/chart.py. Pods come from pod_discovery.py."""

from cluster_setup.pod_discovery import PREFIX as META
from cluster_setup.pod_discovery import label_name
from cluster_setup.state import DISCOVERY_PORT

SECONDS = 2  # between two scrapes of a pod, two evaluations of the rules, two requests for the list of pods
RELEASE, NAMESPACE = "espalier", "espalier-system"
SERVICE = f"{RELEASE}-operator-metrics"
PORTS_OF_JOBS = "admin(-[0-9]+)?"  # one for each process of a pod
POD_TARGET_LABELS = ["espalier.io/job", "app.kubernetes.io/component", "espalier.io/incarnation"]


def _keep_where(label, value):
    name = label_name(label)
    return {"action": "keep", "source_labels": [f"{META}pod_label_{name}", f"{META}pod_labelpresent_{name}"],
            "regex": f"({value});true"}


def _copy(source, target):
    return {"source_labels": [source], "target_label": target, "regex": "(.+)"}


def _write(target, value):
    return {"target_label": target, "replacement": value}


def _targets(selector, port, added):
    """Returns the relabeling rules that keep the ports whose names match the regular expression `port`, of pods with the
    labels in `selector`."""
    return [{"action": "drop", "source_labels": [f"{META}pod_phase"], "regex": "(Failed|Succeeded)"},
            *(_keep_where(label, value) for label, value in selector.items()),
            {"action": "keep", "source_labels": [f"{META}pod_container_port_name"], "regex": port},
            _copy(f"{META}namespace", "namespace"), _copy(f"{META}pod_container_name", "container"),
            _copy(f"{META}pod_name", "pod"), *added]


def _operator():
    # The Service selects the operator's pods: the same selector, another name of the port.
    selector = {"app.kubernetes.io/name": "espalier", "app.kubernetes.io/instance": RELEASE,
                "app.kubernetes.io/component": "operator"}
    in_namespace = {"action": "keep", "source_labels": [f"{META}namespace"], "regex": NAMESPACE}
    return [in_namespace, *_targets(selector, "admin", [
        _write("service", SERVICE), _write("job", SERVICE), _write("endpoint", "metrics")])]


def _jobs():
    selector = {"app.kubernetes.io/managed-by": "espalier-operator"}
    of_pods = [_copy(f"{META}pod_label_{label_name(label)}", label_name(label)) for label in POD_TARGET_LABELS]
    return _targets(selector, PORTS_OF_JOBS, [*of_pods, _write("job", f"{NAMESPACE}/{RELEASE}-jobs")])


def configuration(rule_files):
    """Returns the content of prometheus.yml, as JSON, which is valid YAML."""
    discovery = [{"url": f"http://127.0.0.1:{DISCOVERY_PORT}/", "refresh_interval": f"{SECONDS}s"}]
    return {"global": {"scrape_interval": f"{SECONDS}s", "scrape_timeout": f"{SECONDS}s",
                       "evaluation_interval": f"{SECONDS}s"},
            "rule_files": [str(path) for path in rule_files],
            "scrape_configs": [{"job_name": name, "http_sd_configs": discovery, "relabel_configs": rules}
                               for name, rules in (("operator", _operator()), ("jobs", _jobs()))]}
