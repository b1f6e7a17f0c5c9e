"""Prometheus scrapes a job and its operator: every query of the dashboards has data, and the pages list every metric."""

import sys

from observability.documented import differences
from runner.command_line import SOURCE
from runner.commands import Failure, run
from runner.world import CORA, ENDLESS

LEVEL = "full"
SECONDS = 600
NEEDS_OWN_CLUSTER = True  # needs the Prometheus of e2e/cluster
CHECK = SOURCE / "e2e/observability/check_queries"
# Queries of errors, which have no data here; the scenario "alerts" covers them.
EMPTY = ["job/Errors per second"]


def run_steps(world):
    namespace, prometheus = world.namespace, world.prometheus
    namespace.apply(CORA, epochs=ENDLESS, samplers="1")
    namespace.wait_for_phase("cora", "Training", 180)
    namespace.wait_for_checkpoint("cora", 120)
    wanted = {*world.chart.operator_pods(),
              *(name for role in ("server", "sampler", "trainer") for name in namespace.pods("cora", role))}
    assert len(wanted) == 6, wanted
    namespace.wait_for("a scrape of each pod", 60, lambda: scraped(world) == wanted)

    asked = run([sys.executable, "-B", CHECK, "--prometheus", prometheus.url, "--job", f"{namespace.name}/cora",
                 "--rate-interval", "15s", "--minutes", "5", "--within", "180", "--empty", *EMPTY], timeout=400)
    world.note(f"{asked.count(' series ')} queries asked")
    wrong = differences(prometheus, f'job=~".+", namespace=~"{namespace.name}|{world.chart.NAMESPACE}"')
    if wrong:
        raise Failure("\n".join(wrong))

    bad = [(rule["name"], rule.get("lastError")) for rule in prometheus.alerting_rules() if rule["health"] != "ok"]
    assert not bad, bad
    # Only the chart's own rules; those with shortened times have the label "hour".
    firing = [labels for label in ("namespace", "job_namespace")
              for labels, _ in prometheus.now(f'ALERTS{{alertstate="firing", hour="", {label}="{namespace.name}"}}')]
    assert not firing, firing


def scraped(world):
    """Returns the names of the pods of the job and of the operator whose last scrape succeeded."""
    found = world.prometheus.now(f'up{{namespace=~"{world.namespace.name}|{world.chart.NAMESPACE}"}} == 1')
    return {labels["pod"] for labels, _ in found}
