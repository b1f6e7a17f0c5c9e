"""The command e2e/run."""

import argparse
import importlib.util
import json
import math
import os
import pathlib
import signal
import sys
import time

from cluster_setup import images
from cluster_setup.state import Cluster
from runner import chart, here, levels, report
from runner.bucket import Bucket
from runner.commands import Failure, attempt, run
from runner.rounds import summary, table
from runner.scenario_runs import run_rounds, say
from runner.world import World

SOURCE = here.SOURCE
SCENARIOS = SOURCE / "e2e/scenarios"
TOOL_SECONDS = 3600  # to download and compile a program of e2e/tools
USAGE_STATUS, UNAVAILABLE_STATUS, INTERRUPTED_STATUS = 64, 69, 130
# A cluster of e2e/cluster sets them; for another cluster, the user sets them (scenarios/README.md).
NEEDED = ["AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "ESPALIER_E2E_IMAGES", "ESPALIER_E2E_TAG"]


def load(name):
    """Returns the module of a scenario: LEVEL, SECONDS, run_steps(world)."""
    place = SCENARIOS / name / "steps.py"
    spec = importlib.util.spec_from_file_location(f"scenario_{name}", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chosen(arguments, refuse):
    """Returns the named scenarios, or those of the level: {name: module}."""
    known = sorted(place.parent.name for place in SCENARIOS.glob("*/steps.py"))
    for name in arguments.scenarios:
        if name not in known:
            refuse(f"no scenario {name}: there are {', '.join(known)}")
    scenarios = {name: load(name) for name in arguments.scenarios or known}
    return {name: scenario for name, scenario in scenarios.items()
            if arguments.scenarios or arguments.level == "full" or scenario.LEVEL == "ci"}


def lack_of(scenario):
    """Describes what a scenario needs and this machine lacks; None if it can run."""
    if getattr(scenario, "NEEDS_OWN_CLUSTER", False) and "ESPALIER_E2E_CLUSTER" not in os.environ:
        return "a cluster of e2e/cluster"
    if not has_graph(scenario):
        return f"the folder {scenario.NEEDS_GRAPH} of ESPALIER_TEST_DATA"
    if getattr(scenario, "NEEDS_NUMPY", False) and not here.has_numpy():
        return "numpy, which build/python has once ./test.sh has prepared it"
    api = getattr(scenario, "NEEDS_API", None)
    if api and attempt(["kubectl", "get", "--raw", f"/apis/{api}"]).returncode != 0:
        return f"an API server that serves {api} (e2e/cluster up --kubernetes newest)"
    return None


def leave_out(scenarios, parser, named):
    """Removes the scenarios that cannot run, and prints the reason of each; with `named`, such a scenario is an error of
    the command."""
    for name, lacks in [(name, lack_of(scenario)) for name, scenario in scenarios.items()]:
        if lacks and named:
            parser.error(f"{name} needs {lacks}")
        if lacks:
            say(f"-- {name}: skipped, because it needs {lacks}")
            del scenarios[name]


def has_graph(scenario):
    """Returns whether this machine has the graph that a scenario needs, if it needs one."""
    graph = getattr(scenario, "NEEDS_GRAPH", None)
    return graph is None or here.test_data(graph) is not None


def make_images(cluster, scenarios):
    """Builds further images of the scenarios that have their graphs. This downloads packages: nothing can be downloaded
    from where the cluster is reached."""
    tag = Cluster(cluster).settings.get("image_tag")
    for name in sorted({image for scenario in scenarios.values() if has_graph(scenario)
                        for image in getattr(scenario, "NEEDS_IMAGES", ())}):
        if tag:
            say(f"-- image espalier-{name}: {images.ensure_more(name, tag)}")


def make_tools(scenarios):
    """Builds programs of e2e/tools that only some scenarios need, and names their folders in the environment. This
    downloads sources, like make_images."""
    for name in sorted({tool for scenario in scenarios.values() for tool in getattr(scenario, "NEEDS_TOOLS", ())}):
        folder = run([SOURCE / "e2e/tools/build.sh", name], timeout=TOOL_SECONDS).strip()
        os.environ[f"ESPALIER_{name.upper()}"] = folder
        say(f"-- {name}: {folder}")


def programs_of(scenarios):
    """Returns the names of programs that some scenarios need on this machine, in addition to those that all need."""
    return sorted({name for scenario in scenarios.values() for name in getattr(scenario, "NEEDS_PROGRAMS", ())})


def run_all(scenarios, world, arguments, rounds):
    """Returns whether all scenarios passed in time. Restores the state of the chart: installed or not."""
    max_seconds = math.inf if arguments.scenarios else levels.SECONDS[arguments.level]
    begin = time.monotonic()
    was_installed = chart.is_installed()
    try:
        chart.install()
        say(f"-- chart installed in {time.monotonic() - begin:.0f} s")
        return run_rounds(scenarios, world, arguments.reports, arguments.repeat, rounds, max_seconds)
    finally:
        if not was_installed and chart.is_installed():
            chart.uninstall()


def keep(rounds, arguments):
    if rounds and arguments.repeat > 1:
        say(table(rounds))
    if rounds:
        levels.keep(arguments.reports, [one for round_ in rounds for one in round_])
    if arguments.json:
        arguments.json.write_text(json.dumps(summary(rounds), indent=2) + "\n")


def at_least_one(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, found '{text}'")
    return int(text)


def parsed(argv, description):
    parser = argparse.ArgumentParser(prog="e2e/run", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--cluster", default="main")
    where.add_argument("--kubeconfig", type=pathlib.Path)
    parser.add_argument("--level", choices=list(levels.SECONDS), default="ci")
    parser.add_argument("--repeat", type=at_least_one, default=1, metavar="N")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--reports", type=pathlib.Path, default=SOURCE / "build/e2e-reports")
    parser.add_argument("--bucket", default="espalier-e2e")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.error = lambda message: (print(f"e2e/run: {message}", file=sys.stderr), sys.exit(USAGE_STATUS))
    arguments = parser.parse_args(argv)
    if arguments.prepare and arguments.kubeconfig:
        parser.error("--prepare requires a cluster of e2e/cluster: on other clusters the chart is removed")
    if arguments.json and not arguments.json.parent.is_dir():
        parser.error(f"argument --json: there is no folder {arguments.json.parent}")
    return parser, arguments


def main(argv, description):
    # Like Ctrl-C, which a shell's background processes ignore: this process ends everything that it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser, arguments = parsed(argv, description)
    scenarios = chosen(arguments, parser.error)
    if arguments.kubeconfig:
        os.environ["KUBECONFIG"] = str(arguments.kubeconfig.resolve())
        os.environ.pop("ESPALIER_E2E_CLUSTER", None)
    elif os.environ.get("ESPALIER_E2E_CLUSTER") != arguments.cluster:
        make_images(arguments.cluster, scenarios)
        make_tools(scenarios)
        # Once more, from where the cluster can be reached.
        inside = [SOURCE / "e2e/cluster", "exec", "--name", arguments.cluster, "--", SOURCE / "e2e/run", *argv]
        os.execv(inside[0], list(map(str, inside)))
    missing = [name for name in NEEDED if not os.environ.get(name)]
    if missing:
        parser.error(f"needs {', '.join(missing)} in the environment")
    os.environ.setdefault("ESPALIER_E2E_CLI", str(SOURCE / "build/release/bin" / here.PROGRAM))
    for name in [name for name in os.environ if name.startswith(("MKL_", "ONEDNN_"))]:
        del os.environ[name]  # pods do not have what chooses the kernels of the math library here
    os.environ.setdefault("AWS_REGION", "us-east-1")

    try:
        run(["kubectl", "get", "--raw", "/readyz"])
    except Failure as failure:
        print(f"e2e/run: {failure}", file=sys.stderr)
        return UNAVAILABLE_STATUS
    leave_out(scenarios, parser, named=bool(arguments.scenarios))
    unbuilt = [] if arguments.prepare else here.missing_programs(programs_of(scenarios))
    if unbuilt:
        print(f"e2e/run: not built: {', '.join(unbuilt)}; ./test.sh builds them, and so does "
              "cmake --build --preset release --target espalier-binaries", file=sys.stderr)
        return UNAVAILABLE_STATUS
    bucket = Bucket(arguments.bucket)
    try:
        obstacle = None if World.is_own_cluster() else chart.used_by_others()
        if obstacle:
            raise Failure(f"scenarios install, change and remove Espalier, and this cluster already has it: {obstacle}")
        bucket.ensure()
        bucket.upload_folder(SOURCE / "services/examples/cora", "cora")
        for graph in {scenario.NEEDS_GRAPH for scenario in scenarios.values() if hasattr(scenario, "NEEDS_GRAPH")}:
            bucket.upload_folder(here.test_data(graph), graph)
    except Failure as failure:
        print(f"e2e/run: {failure}", file=sys.stderr)
        return UNAVAILABLE_STATUS

    begin = time.monotonic()
    rounds = []
    try:
        if arguments.prepare:
            chart.install()
            levels.forget(arguments.reports)
            return 0
        went_well = run_all(scenarios, World(bucket, arguments.reports), arguments, rounds)
    except Failure as failure:
        print(f"e2e/run: {failure}", file=sys.stderr)
        report.write(arguments.reports / "installation", chart.NAMESPACE)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    finally:
        keep(rounds, arguments)
    outcomes = [one for round_ in rounds for one in round_]
    failed = [one.scenario for one in outcomes if not one.passed]
    say(f"{len(outcomes) - len(failed)} of {len(outcomes)} scenarios passed in {time.monotonic() - begin:.0f} s"
        + (f"; failed: {', '.join(failed)}" if failed else "") + ("" if went_well or failed else "; that is too long"))
    return 0 if went_well else 1
