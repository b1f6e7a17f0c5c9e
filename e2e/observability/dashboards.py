"""Reads the queries of the chart's dashboards and alerts."""

import dataclasses
import json
import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
DASHBOARDS = REPOSITORY / "helm" / "espalier" / "files" / "dashboards"
ALERTS = REPOSITORY / "helm" / "espalier" / "files" / "alerts" / "espalier.yaml"
# Names of metrics. Names with espalier_io_ are labels of the scrape.
METRIC = re.compile(r"\b(?:espalier_(?!io_)|controller_runtime_|workqueue_|rest_client_|leader_election_)[a-z0-9_]+")
# The query of a variable: series and label.
LABEL_VALUES = re.compile(r"label_values\((.+), (\w+)\)")


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable of a dashboard; its choices are the values of a label."""
    name: str
    expression: str  # one series for each value, with Grafana's variables
    label: str


@dataclasses.dataclass(frozen=True)
class Query:
    expression: str  # with Grafana's variables
    legend: str
    instant: bool


@dataclasses.dataclass(frozen=True)
class Panel:
    title: str
    kind: str
    unit: str
    place: tuple  # x, y, width, height on Grafana's grid of 24 columns
    stacked: bool
    decimals: int | None  # None: as many as needed
    queries: tuple


@dataclasses.dataclass(frozen=True)
class Dashboard:
    name: str
    title: str
    variables: tuple  # without the data source
    rows: tuple  # (title, y)
    panels: tuple


def dashboard(name):
    document = json.loads((DASHBOARDS / f"{name}.json").read_text())
    rows, panels = [], []
    for one in document["panels"]:
        at = one["gridPos"]
        if one["type"] == "row":
            rows.append((one["title"], at["y"]))
            continue
        defaults = one["fieldConfig"]["defaults"]
        stacking = defaults.get("custom", {}).get("stacking", {}).get("mode")
        queries = tuple(Query(q["expr"], q["legendFormat"], q.get("instant", False)) for q in one["targets"])
        panels.append(Panel(one["title"], one["type"], defaults["unit"], (at["x"], at["y"], at["w"], at["h"]),
                            stacking == "normal", defaults.get("decimals"), queries))
    return Dashboard(name, document["title"], variables_of(document), tuple(rows), tuple(panels))


def variables_of(document):
    found = []
    for one in document["templating"]["list"]:
        if one["type"] == "datasource":
            continue
        series, label = LABEL_VALUES.fullmatch(one["query"]["query"]).groups()
        found.append(Variable(one["name"], f"group by ({label}) ({series})", label))
    return tuple(found)


def filled_in(expression, variables, rate_interval):
    """Returns the expression as Grafana sends it, with values for $name and $__rate_interval."""
    values = dict(variables, __rate_interval=rate_interval)

    def value(match):
        if match.group(1) not in values:
            raise KeyError(f"${match.group(1)} in {expression}: expected one of {sorted(values)}")
        return values[match.group(1)]
    return re.sub(r"\$([a-zA-Z_]+)", value, expression)


def alerts():
    """Returns {name: expression}. Parses only the subset of YAML that the file uses."""
    found, name, lines = {}, None, ALERTS.read_text().splitlines()
    for number, line in enumerate(lines):
        if match := re.match(r"  - alert: (\w+)$", line):
            name = match.group(1)
        elif match := re.match(r"    expr: (.+)$", line):
            text = match.group(1)
            if text == ">-":
                folded = []
                for below in lines[number + 1:]:
                    if not below.startswith("      "):
                        break
                    folded.append(below.strip())
                text = " ".join(folded)
            found[name] = text
    if len(found) != sum("- alert:" in line for line in lines):
        raise ValueError(f"{ALERTS}: an alert without an expression, or two of one name")
    return found
