"""The times of scenarios over one or several rounds: as a table and as JSON."""

import dataclasses


@dataclasses.dataclass
class Outcome:
    """One run of one scenario."""

    scenario: str
    seconds: float
    passed: bool
    figures: dict = dataclasses.field(default_factory=dict)  # measurements of the scenario: {name: seconds}


def summary(rounds):
    """Returns the summary of a list of rounds, each a list of Outcome. Minimum and maximum are over the runs that passed,
    null if none did. Scenarios that did not run in an interrupted round are null."""
    return {"rounds": len(rounds), "scenarios": [_summarize(name, rounds) for name in _names(rounds)]}


def table(rounds):
    """Returns the summary as a table; "!" marks the seconds of a failed run."""
    lines = [["seconds", *(f"round {number}" for number in range(1, len(rounds) + 1)), "min", "max"]]
    for scenario in summary(rounds)["scenarios"]:
        marks = ["!" if passed is False else "" for passed in scenario["passed"]]
        lines.append(_line(scenario["name"], scenario, marks))
        lines += [_line(f"  {figure['name']}", figure, [""] * len(rounds)) for figure in scenario["figures"]]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])])
                     for first, *others in lines)


def _summarize(name, rounds):
    outcomes = [next((one for one in round_ if one.scenario == name), None) for round_ in rounds]
    passed = [one for one in outcomes if one and one.passed]
    figures = dict.fromkeys(what for one in outcomes if one for what in one.figures)
    return {"name": name,
            "seconds": [one and one.seconds for one in outcomes],
            "passed": [one and one.passed for one in outcomes],
            **_extremes([one.seconds for one in passed]),
            "figures": [{"name": what,
                         "seconds": [one and one.figures.get(what) for one in outcomes],
                         **_extremes([one.figures[what] for one in passed if what in one.figures])}
                        for what in figures]}


def _extremes(seconds):
    return {"min": min(seconds, default=None), "max": max(seconds, default=None)}


def _names(rounds):
    """Returns the names of the scenarios, in the order of their first runs."""
    return list(dict.fromkeys(one.scenario for round_ in rounds for one in round_))


def _line(name, row, marks):
    def text(seconds):
        return "-" if seconds is None else f"{seconds:.1f}"

    return [name, *(text(seconds) + mark for seconds, mark in zip(row["seconds"], marks)),
            text(row["min"]), text(row["max"])]
