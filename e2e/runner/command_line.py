"""The command e2e/run."""

import argparse
import importlib.util
import os
import pathlib
import secrets
import shutil
import signal
import sys
import time
import traceback

from runner import chart, report
from runner.bucket import Bucket
from runner.commands import Failure, run
from runner.world import World

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = SOURCE / "e2e/scenarios"
USAGE_STATUS, UNAVAILABLE_STATUS, INTERRUPTED_STATUS = 64, 69, 130
# A cluster of e2e/cluster sets them; for another one, whoever runs this does (scenarios/README.md).
NEEDED = ["AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "ESPALIER_E2E_IMAGES", "ESPALIER_E2E_TAG"]


def say(text):
    print(text, flush=True)


def load(name):
    """The module of a scenario's folder: LEVEL, SECONDS, story(world)."""
    place = SCENARIOS / name / "steps.py"
    spec = importlib.util.spec_from_file_location(f"scenario_{name}", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chosen(arguments, refuse):
    """The scenarios that are named, or those of the level, by name."""
    known = sorted(place.parent.name for place in SCENARIOS.glob("*/steps.py"))
    for name in arguments.scenarios:
        if name not in known:
            refuse(f"no scenario {name}: there are {', '.join(known)}")
    scenarios = {name: load(name) for name in arguments.scenarios or known}
    return {name: scenario for name, scenario in scenarios.items()
            if arguments.scenarios or arguments.level == "full" or scenario.LEVEL == "ci"}


def further_graph(name):
    """The folder of a graph that is not in the repository, where there is one."""
    folder = os.environ.get("ESPALIER_TEST_DATA")
    return pathlib.Path(folder) / name if folder and (pathlib.Path(folder) / name).is_dir() else None


def lack_of(scenario):
    """What a scenario needs and is not here, in words; None where it may be told."""
    if getattr(scenario, "NEEDS_OWN_CLUSTER", False) and "ESPALIER_E2E_CLUSTER" not in os.environ:
        return "a cluster of e2e/cluster"
    graph = getattr(scenario, "NEEDS_GRAPH", None)
    if graph and not further_graph(graph):
        return f"the graph {graph} in ESPALIER_TEST_DATA"
    return None


def tell(name, scenario, world, reports):
    """Whether the story went as it should."""
    begin = time.monotonic()
    say(f"== {name}: {scenario.__doc__.splitlines()[0]}")
    try:
        world.begin(name, scenario.SECONDS)
        scenario.story(world)
        world.check_time()
    except KeyboardInterrupt:
        say(f"!! {name} interrupted")
        raise
    except Exception as error:
        where = [f"line {frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
                 if frame.filename.endswith("steps.py")]
        say(f"!! {name} failed after {time.monotonic() - begin:.0f} s, steps.py {', '.join(where)}: "
            + (str(error) if isinstance(error, Failure) else "".join(traceback.format_exception(error))))
        report.write(reports / name, world.namespace.name)
        say(f"   what was there lies in {reports / name}")
        return False
    finally:
        world.end()
    say(f"-- {name}: passed in {time.monotonic() - begin:.0f} s")
    return True


def tell_all(scenarios, world, reports):
    """Names of the scenarios that failed. The chart is as it was before: installed or not."""
    begin = time.monotonic()
    was_installed = chart.is_installed()
    for name in scenarios:
        shutil.rmtree(reports / name, ignore_errors=True)
    try:
        chart.install()
        say(f"-- chart installed in {time.monotonic() - begin:.0f} s")
        failed = [name for name, scenario in scenarios.items() if not tell(name, scenario, world, reports)]
        world.wait_until_gone()
        return failed
    finally:
        if not was_installed and chart.is_installed():
            chart.uninstall()


def main(argv, description):
    # As Ctrl-C: everything is ended before this process is.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    parser = argparse.ArgumentParser(prog="e2e/run", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--cluster", default="main")
    where.add_argument("--kubeconfig", type=pathlib.Path)
    parser.add_argument("--level", choices=["ci", "full"], default="ci")
    parser.add_argument("--reports", type=pathlib.Path, default=SOURCE / "build/e2e-reports")
    parser.add_argument("--bucket", default="espalier-e2e")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.error = lambda message: (print(f"e2e/run: {message}", file=sys.stderr), sys.exit(USAGE_STATUS))
    arguments = parser.parse_args(argv)

    scenarios = chosen(arguments, parser.error)
    if arguments.kubeconfig:
        os.environ["KUBECONFIG"] = str(arguments.kubeconfig.resolve())
        os.environ.pop("ESPALIER_E2E_CLUSTER", None)
    elif os.environ.get("ESPALIER_E2E_CLUSTER") != arguments.cluster:
        # Once more, from where the cluster can be reached.
        inside = [SOURCE / "e2e/cluster", "exec", "--name", arguments.cluster, "--", SOURCE / "e2e/run", *argv]
        os.execv(inside[0], list(map(str, inside)))
    missing = [name for name in NEEDED if not os.environ.get(name)]
    if missing:
        parser.error(f"needs {', '.join(missing)} in the environment")
    os.environ.setdefault("ESPALIER_E2E_CLI", str(SOURCE / "build/release/bin/espalier"))
    for name in [name for name in os.environ if name.startswith("OPENBLAS_")]:
        del os.environ[name]  # pods do not have what chooses the kernels of the math library here
    os.environ.setdefault("AWS_REGION", "us-east-1")

    for name, lacks in [(name, lack_of(scenario)) for name, scenario in scenarios.items()]:
        if lacks and arguments.scenarios:
            parser.error(f"{name} needs {lacks}")
        if lacks:
            say(f"-- {name}: left out, for it needs {lacks}")
            del scenarios[name]
    bucket = Bucket(arguments.bucket)
    try:
        run(["kubectl", "get", "--raw", "/readyz"])
        bucket.ensure()
        bucket.upload_folder(SOURCE / "services/examples/cora", "cora")
        for graph in {scenario.NEEDS_GRAPH for scenario in scenarios.values() if hasattr(scenario, "NEEDS_GRAPH")}:
            bucket.upload_folder(further_graph(graph), graph)
    except Failure as failure:
        print(f"e2e/run: {failure}", file=sys.stderr)
        return UNAVAILABLE_STATUS

    begin = time.monotonic()
    try:
        if arguments.prepare:
            chart.install()
            return 0
        failed = tell_all(scenarios, World(bucket, secrets.token_hex(3)), arguments.reports)
    except Failure as failure:
        print(f"e2e/run: {failure}", file=sys.stderr)
        report.write(arguments.reports / "installation", chart.NAMESPACE)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    say(f"{len(scenarios) - len(failed)} of {len(scenarios)} scenarios passed in {time.monotonic() - begin:.0f} s"
        + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0
