"""Runs scenarios one after the other and records their times."""

import math
import shutil
import time
import traceback

from runner import report
from runner.commands import Failure
from runner.levels import overrun
from runner.rounds import Outcome


def say(text):
    print(text, flush=True)


def run_scenario(name, scenario, world, reports):
    begin = time.monotonic()

    def outcome(passed):
        return Outcome(name, round(time.monotonic() - begin, 1), passed, world.figures)

    say(f"== {name}: {scenario.__doc__.splitlines()[0]}")
    try:
        world.begin(name, scenario.SECONDS)
        scenario.run_steps(world)
        world.check_time()
        passed = outcome(passed=True)
    except KeyboardInterrupt:
        say(f"!! {name} interrupted")
        raise
    except Exception as error:
        failed = outcome(passed=False)
        where = [f"line {frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
                 if frame.filename.endswith("steps.py")]
        say(f"!! {name} failed after {failed.seconds:.0f} s, steps.py {', '.join(where)}: "
            + in_words(error))
        report.write(reports / name, world.namespace.name)
        say(f"   the report is in {reports / name}")
        return failed
    finally:
        world.end()
    say(f"-- {name}: passed in {passed.seconds:.0f} s")
    return passed


def in_words(error):
    """Describes an error. If it occurred during a cleanup, the error that caused the cleanup comes first."""
    if not isinstance(error, Failure):
        return "".join(traceback.format_exception(error))
    before = error.__context__ if not error.__suppress_context__ else None
    return str(error) if before is None else f"{in_words(before)}\nand then: {error}"


def run_rounds(scenarios, world, reports, times, rounds, max_seconds=math.inf):
    """Runs all scenarios `times` times. Returns False after a round in which a scenario failed or which took longer than
    `max_seconds`. Each run is added to `rounds` at once, so that an interruption loses no results."""
    for name in scenarios:
        shutil.rmtree(reports / name, ignore_errors=True)
    for number in range(1, times + 1):
        if times > 1:
            say(f"== round {number} of {times}")
        begin = time.monotonic()
        world.begin_round()
        rounds.append([])
        for name, scenario in scenarios.items():
            rounds[-1].append(run_scenario(name, scenario, world, reports))
        world.wait_until_gone()
        seconds = time.monotonic() - begin
        if seconds > max_seconds:
            say(f"!! {overrun(rounds[-1], seconds, max_seconds)}")
            return False
        if not all(outcome.passed for outcome in rounds[-1]):
            return False
    return True
