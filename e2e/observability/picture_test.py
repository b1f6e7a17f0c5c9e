"""Tests that each panel of the chart's dashboards is drawn, with data and without."""

import time
import unittest
import xml.etree.ElementTree

from observability.dashboards import Dashboard, Panel, Query, dashboard
from observability.picture import legend, number, picture_of

SVG = "{http://www.w3.org/2000/svg}"
SECONDS = 600


def drawn(what, series_of):
    """Returns the picture and its texts."""
    svg = xml.etree.ElementTree.fromstring(picture_of(what, series_of, SECONDS))
    return svg, [element.text for element in svg.iter(f"{SVG}text")]


def two_series(query):
    """Returns two rising series with names that need escaping; one value each for an instant query."""
    now = time.time()
    moments = [now] if query.instant else [now - 60, now - 30, now]
    return [({label: f"<{label}&{i}>" for label in ("stage", "pod", "phase", "method")},
             [(at, 0.25 * (i + j)) for j, at in enumerate(moments)]) for i in (1, 2)]


def of_one(kind, stacked=False):
    query = Query("up", "{{pod}}", instant=False)
    panel = Panel("Title", kind, "none", (0, 0, 12, 8), stacked, None, (query,))
    return Dashboard("one", "One", (), (), (panel,))


class ChartsDashboardsTest(unittest.TestCase):
    def test_every_panel_is_drawn(self):
        for name in ("fleet", "job"):
            what = dashboard(name)
            titles = {what.title, *(title for title, _ in what.rows), *(panel.title for panel in what.panels)}
            for series_of, empty in ((two_series, 0), (lambda query: [], len(what.panels))):
                svg, words = drawn(what, series_of)
                self.assertEqual(sorted(titles - set(words)), [], name)
                self.assertEqual(words.count("No data"), empty, name)
                lines = sum(2 * len(panel.queries) for panel in what.panels if panel.kind == "timeseries")
                self.assertEqual(len(list(svg.iter(f"{SVG}polyline"))), 0 if empty else lines, name)


class PictureTest(unittest.TestCase):
    def test_names_and_newest_values_are_written(self):
        series = [({"pod": "<a&b>"}, [(1, 50), (2, 25)])]
        for kind in ("stat", "gauge", "bargauge"):
            _, words = drawn(of_one(kind), lambda query: series)
            self.assertEqual(words[-3:-2], ["Title"])
            self.assertEqual(sorted(words[-2:]), ["25", "<a&b>"], kind)

    def test_stacked_lines_are_on_top_of_each_other(self):
        now = time.time()
        series = [({"pod": name}, [(now, 1)]) for name in ("a", "b")]
        heights = {}
        for stacked in (False, True):
            svg, _ = drawn(of_one("timeseries", stacked=stacked), lambda query: series)
            heights[stacked] = [point.get("cy") for point in svg.iter(f"{SVG}circle")]
        self.assertEqual(len(set(heights[False])), 1)
        self.assertEqual(len(set(heights[True])), 2)

    def test_values_have_their_units(self):
        for value, unit, text in ((0.5, "percentunit", "50%"), (3 * 1024**2, "bytes", "3 MiB"),
                                  (2048, "Bps", "2 KiB/s"), (0.0005, "s", "500 us"), (90, "s", "90 s"),
                                  (259200, "s", "3 d"), (12, "reqps", "12/s"), (12345, "none", "12,345")):
            self.assertEqual(number(value, unit), text)
        self.assertEqual(number(1, "none", decimals=3), "1.000")

    def test_a_legend_is_made_of_labels(self):
        self.assertEqual(legend("{{pod}}: {{stage}} {{none}}", {"pod": "a", "stage": "sample"}), "a: sample")


if __name__ == "__main__":
    unittest.main()
