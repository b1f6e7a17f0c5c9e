"""metrics.md has what the code registers, dashboards and alerts ask for what it has, and alerts.md has every alert."""

import re
import sys
import unittest

from pages import DOCS, SOURCE

sys.path.insert(0, str(SOURCE / "e2e"))

from observability.dashboards import alerts, dashboard, filled_in  # noqa: E402
from observability.documented import FOREIGN, documented, metrics_in  # noqa: E402

# A name in quotes, and the nearest word before it that says what is made of it.
REGISTERED = re.compile(r"\b(AddCounter|AddGauge|AddTemporaryGauge|AddHistogram|set)\(\s*"
                        r'"((?:espalier|controller_runtime|workqueue|rest_client|leader_election)_[a-z0-9_]+)"')
KINDS = {"AddCounter": "counter", "AddGauge": "gauge", "AddTemporaryGauge": "gauge", "AddHistogram": "histogram",
         "set": "gauge"}
QUOTED = re.compile(r'"((?:espalier|controller_runtime|workqueue|rest_client|leader_election)_[a-z0-9_]*[a-z0-9])"')
COMMENT = re.compile(r"//.*")
# espalier_<where>_<what>_<unit>; of counters the unit, or what is counted, and _total.
OURS = re.compile(r"espalier_(?:process|build|admin|tls|trainer|partitioner|rpc|storage|partition|client|operator)_[a-z]+"
                  r"(?:_[a-z]+)*")
UNITS = {"bytes", "count", "files", "ratio", "seconds", "value"}
WITHOUT_UNIT = {"espalier_operator_job_info", "espalier_build_info",  # always 1: their labels are what they say
                "espalier_trainer_checkpoint_last_step"}  # the number of one, and no amount
# A variable as Grafana's expressions have it, but for the interval that Grafana chooses itself.
VARIABLE = re.compile(r"\$(?!__)([a-zA-Z_]+)")


def sources():
    for folder in ("services", "operator"):
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix in (".cc", ".h") and not path.stem.endswith("_test") and not path.stem.endswith("_bench") \
                    and "testing" not in path.parts and "tests" not in path.parts:
                yield path


def code():
    return "\n".join(COMMENT.sub("", path.read_text()) for path in sources())


class MetricsTest(unittest.TestCase):
    def test_the_page_lists_exactly_the_metrics_of_the_code(self):
        symbols = {f"espalier_plugin_v{version}" for version in (1, 2, 3)}  # server-plugins.md
        named = set(QUOTED.findall(code())) - symbols
        self.assertGreater(len(named), 50)
        self.assertEqual(sorted(documented()), sorted(named))

    def test_the_page_has_the_types_of_metrics(self):
        found = {name: KINDS[how] for how, name in REGISTERED.findall(code())}
        self.assertGreater(len(found), 50)
        types = {name: kind for name, (kind, _) in documented().items() if name in found}
        self.assertEqual(types, found)

    def test_names_have_component_quantity_and_unit(self):
        names = {name: kind for name, (kind, _) in documented().items()}
        self.assertEqual([name for name, kind in names.items() if name.endswith("_total") != (kind == "counter")], [])
        ours = [name for name in names if name.startswith("espalier_")]
        self.assertEqual([name for name in ours if not OURS.fullmatch(name)], [])
        without = {name for name in ours if not name.endswith("_total") and name.rpartition("_")[2] not in UNITS}
        self.assertEqual(without, WITHOUT_UNIT)

    def test_dashboards_and_alerts_use_existing_metrics(self):
        known = documented()
        asked = {f"{name}: {panel.title}": metrics_in(query.expression, known) for name in ("fleet", "job")
                 for panel in dashboard(name).panels for query in panel.queries}
        asked.update({f"{name}: ${variable.name}": metrics_in(variable.expression, known) for name in ("fleet", "job")
                      for variable in dashboard(name).variables})
        asked.update({name: metrics_in(expression, known) for name, expression in alerts().items()})
        self.assertEqual([f"{where}: {metric}" for where, metrics in asked.items()
                          for metric in sorted(metrics - set(known))], [])
        self.assertEqual([where for where, metrics in asked.items() if not metrics], [])


class DashboardsTest(unittest.TestCase):
    def test_panels_are_complete_and_do_not_overlap(self):
        for name in ("fleet", "job"):
            taken = {}
            for panel in dashboard(name).panels:
                x, y, width, height = panel.place
                self.assertLessEqual(x + width, 24, panel.title)
                for cell in [(i, j) for i in range(x, x + width) for j in range(y, y + height)]:
                    self.assertEqual(taken.setdefault(cell, panel.title), panel.title)
                self.assertTrue(panel.queries, panel.title)
                self.assertTrue(all(query.legend for query in panel.queries), panel.title)

    def test_queries_use_the_variables_that_dashboards_have(self):
        for name, variables in (("fleet", {"namespace": ".*"}), ("job", {"namespace": "ml", "job": "cora"})):
            what = dashboard(name)
            self.assertEqual([variable.name for variable in what.variables], list(variables), name)
            expressions = [query.expression for panel in what.panels for query in panel.queries]
            self.assertEqual(set(VARIABLE.findall(" ".join(expressions))), set(variables), name)
            for expression in expressions:
                self.assertNotIn("$", filled_in(expression, variables, "1m"))

    def test_variables_use_existing_labels(self):
        known = documented()
        for name in ("fleet", "job"):
            before = set()
            for variable in dashboard(name).variables:
                metrics = metrics_in(variable.expression, known)
                self.assertEqual(len(metrics), 1, variable)
                self.assertIn(variable.label, known[metrics.pop()][1] | FOREIGN, variable)
                self.assertLessEqual(set(VARIABLE.findall(variable.expression)), before, variable)
                before.add(variable.name)


class AlertsTest(unittest.TestCase):
    def test_each_has_a_runbook_and_each_runbook_an_alert(self):
        headings = re.findall(r"^## (\w+)$", (DOCS / "alerts.md").read_text(), flags=re.MULTILINE)
        self.assertEqual(headings, list(alerts()))

    def test_each_has_summary_severity_and_runbook_link(self):
        rules = (SOURCE / "helm/espalier/files/alerts/espalier.yaml").read_text().split("  - alert: ")[1:]
        for rule in rules:
            name = rule.split("\n", 1)[0]
            self.assertRegex(rule, r"\n    labels: \{severity: (critical|warning)\}\n", name)
            self.assertRegex(rule, r"\n      summary: \S", name)
            self.assertRegex(rule, r"\n      description: >-\n        \S", name)
            self.assertIn(f"\n      runbook_url: docs/alerts.md#{name.lower()}\n", rule + "\n")

    def test_promtool_tests_that_each_fires_and_stays_silent(self):
        tests = (SOURCE / "e2e/observability/alerts_test.yaml").read_text()
        expected = re.findall(r"alertname: (\w+)\n    exp_alerts:( \[\])?", tests)
        for name in alerts():
            self.assertEqual({empty for of, empty in expected if of == name}, {"", " []"}, name)


if __name__ == "__main__":
    unittest.main()
