"""Tests that the shortened alerts differ from the chart's only in durations and one label."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from observability.dashboards import ALERTS, alerts
from observability.shortened import FACTOR, LABEL, VALUE, expression, seconds_of, shortened

WORD = re.compile(r"\d+[a-z]*")
MARK = f", {LABEL}: {VALUE}}}"


def differing_lines():
    """Returns [(rule, line of the chart, shortened line)]."""
    full = ALERTS.read_text()
    rule, found = None, []
    for before, after in zip(full.splitlines(), shortened(full).splitlines(), strict=True):
        if match := re.match(r"  - alert: (\w+)$", before):
            rule = match.group(1)
        if before != after:
            found.append((rule, before, after))
    return found


class ChartsAlertsTest(unittest.TestCase):
    def test_nothing_but_durations_and_the_label_differs(self):
        labels, constants = [], set()
        for rule, before, after in differing_lines():
            if after.endswith(MARK):
                self.assertEqual(after, before.removesuffix("}") + MARK)
                labels.append(rule)
                continue
            self.assertRegex(before, r"^    for: |^    expr: |^      ", rule)
            self.assertEqual(WORD.sub("#", before), WORD.sub("#", after), rule)
            for old, new in zip(WORD.findall(before), WORD.findall(after), strict=True):
                if old == new:
                    continue
                if old.isdigit():
                    constants.add((rule, old))
                    self.assertEqual(int(old), FACTOR * int(new), rule)
                else:
                    self.assertEqual(seconds_of(old), FACTOR * seconds_of(new), rule)
        self.assertEqual(labels, list(alerts()))
        # Numbers without a unit. Before you add one, check that it is in seconds.
        self.assertEqual(constants, {("EspalierReconcileStuck", "300"), ("EspalierCheckpointTooOld", "3600"),
                                     ("EspalierCertificateExpiring", "86400")})

    def test_no_duration_is_left_as_it_was(self):
        short = shortened(ALERTS.read_text())
        self.assertEqual(re.findall(r"^    for: .*[^s]$|\[[^\]]*[mhd][:\]]|offset \d+[mhd]", short, re.MULTILINE), [])
        longest = max(seconds_of(text) for text in re.findall(r"for: (\w+)$", short, re.MULTILINE))
        self.assertEqual(longest, 120)  # EspalierCertificateExpiring: an hour

    @unittest.skipUnless(os.environ.get("ESPALIER_PROMETHEUS"), "ESPALIER_PROMETHEUS names no promtool")
    def test_promtool_accepts_them_with_the_rules_of_the_chart(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "shortened.yaml"
            path.write_text(shortened(ALERTS.read_text()))
            done = subprocess.run([pathlib.Path(os.environ["ESPALIER_PROMETHEUS"]) / "promtool", "check", "rules", path,
                                   ALERTS], capture_output=True, text=True, timeout=50)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(f"{len(alerts())} rules found"), 2, done.stdout)


class ExpressionTest(unittest.TestCase):
    def test_durations_become_a_thirtieth(self):
        self.assertEqual(expression("rate(x[5m]) > 0.1"), "rate(x[10s]) > 0.1")
        self.assertEqual(expression("changes((x > 0)[1h:1m]) >= 3"), "changes((x > 0)[120s:2s]) >= 3")
        self.assertEqual(expression("x offset 1h30m"), "x offset 180s")
        self.assertEqual(expression("x - time() < 7 * 86400"), "x - time() < 7 * 2880")

    def test_names_strings_and_small_numbers_stay(self):
        for text in ('rate(x{code=~"5(0[02-9]|[1-9].)|429|[A-Z_]+"}[30s])', "x600_total > 59", "x > 600.5"):
            self.assertEqual(expression(text), text.replace("[30s]", "[1s]"))

    def test_what_cannot_be_divided_is_refused(self):
        for text, why in (("x[45s]", "45 s are not a multiple of 30 s"), ("x > 1000", "1000 s are not a multiple"),
                          ("x[5y]", "expected a duration in s, m, h, d, w")):
            with self.assertRaisesRegex(ValueError, why):
                expression(text)
        with self.assertRaisesRegex(ValueError, "for: 10s: 10 s"):
            shortened("    for: 10s\n")


if __name__ == "__main__":
    unittest.main()
