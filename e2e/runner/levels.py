"""Limits the total time of the scenarios of a level. ctest runs each scenario with an e2e/run of its own, so the times are
stored and checked after the last one.

  python -m runner.levels REPORTS        exit status 1 if the scenarios of level ci took too long"""

import dataclasses
import json
import pathlib
import sys

from runner.rounds import Outcome

SECONDS = {"ci": 15 * 60, "full": 50 * 60}
KEPT = "outcomes.jsonl"  # file in the folder of reports: one line for each run of a scenario


def forget(reports):
    (reports / KEPT).unlink(missing_ok=True)


def keep(reports, outcomes):
    reports.mkdir(parents=True, exist_ok=True)
    with (reports / KEPT).open("a") as file:
        file.writelines(json.dumps(dataclasses.asdict(one)) + "\n" for one in outcomes)


def kept(reports):
    """Returns the runs since `forget`: the last one of each scenario."""
    file = reports / KEPT
    outcomes = [Outcome(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
    return list({one.scenario: one for one in outcomes}.values())


def overrun(outcomes, seconds, max_seconds):
    """Returns a message for a level that took too long, with its scenarios, the longest first."""
    longest = sorted(outcomes, key=lambda one: one.seconds, reverse=True)
    return (f"all scenarios together took {seconds:.0f} s, expected at most {max_seconds:.0f} s: "
            + ", ".join(f"{one.scenario} {one.seconds:.0f} s" for one in longest))


def main(reports):
    outcomes = kept(reports)
    if not outcomes:
        print("!! no scenario ran")
        return 1
    seconds = sum(one.seconds for one in outcomes)
    if seconds > SECONDS["ci"]:
        print(f"!! {overrun(outcomes, seconds, SECONDS['ci'])}")
        return 1
    print(f"all scenarios together took {seconds:.0f} s of {SECONDS['ci']} s: "
          + ", ".join(one.scenario for one in outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
