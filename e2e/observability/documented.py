"""Compares the metrics that processes expose with docs/metrics.md."""

import re

from .dashboards import METRIC, REPOSITORY

PAGE = REPOSITORY / "docs" / "metrics.md"
ROW = re.compile(r"^\| `([a-z0-9_]+)` \| (counter|gauge|histogram) \|([^|]*)\|", flags=re.MULTILINE)
PARTS = ("_bucket", "_sum", "_count")  # of a histogram
# Labels of the scrape, of Prometheus, and of every histogram.
FOREIGN = {"__name__", "namespace", "pod", "espalier_io_job", "espalier_io_incarnation", "app_kubernetes_io_component",
           "job", "instance", "endpoint", "container", "service", "le"}


def documented():
    """Returns {name: (type, labels)} of the page."""
    found = {}
    for name, kind, labels in ROW.findall(PAGE.read_text()):
        if name in found:
            raise ValueError(f"{PAGE}: {name} occurs twice")
        found[name] = (kind, frozenset(re.findall(r"`([a-z_]+)`", labels)))
    return found


def metric_of(series, known):
    """Returns the metric of a series: the histogram for its _bucket, _sum and _count."""
    for part in PARTS:
        if series.endswith(part) and known.get(series.removesuffix(part), ("",))[0] == "histogram":
            return series.removesuffix(part)
    return series


def metrics_in(expression, known):
    return {metric_of(series, known) for series in METRIC.findall(expression)}


def differences(prometheus, selector='job="espalier"'):
    """Returns a line for each series that is not on the page, or has other labels or another type there."""
    known, found = documented(), []
    for labels, _ in prometheus.now(f'count by (__name__) ({{{selector}, __name__!~"up|scrape_.*"}})'):
        series = labels["__name__"]
        name = metric_of(series, known)
        if name not in known:
            found.append(f"{series} is exposed but not in docs/metrics.md")
            continue
        wanted = known[name][1]
        seen = {label for one, _ in prometheus.now(f"{series}{{{selector}}}") for label in one} - FOREIGN
        if seen != wanted:
            found.append(f"{name} has the labels {sorted(seen)}, docs/metrics.md says {sorted(wanted)}")
        found += [f"{name} is a {kind}, docs/metrics.md says {known[name][0]}"
                  for kind in prometheus.types_of(name) if kind != known[name][0]]
    return sorted(set(found))
