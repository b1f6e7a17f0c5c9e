"""The commands of e2e/cluster."""

import argparse
import contextlib
import fcntl
import os
import pathlib
import secrets
import signal
import sys
import time

from cluster_setup import certificates, images, machine, network, teardown, tools
from cluster_setup.control_plane import ControlPlane
from cluster_setup.node import Node
from cluster_setup.processes import within
from cluster_setup.state import GATEWAY, PROMETHEUS_PORT, S3_PORT, Cluster, SetupError

USAGE_STATUS, UNFIT_STATUS, INTERRUPTED_STATUS = 64, 69, 130
# Seconds that a command waits for another command on the same cluster; commands that are not listed fail at once. The
# listed ones undo what another command has done, which may still be ending.
PATIENCE = {"down": 300, "start-node": 60, "join-node": 60, "join-between": 60, "start-s3": 60}


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def up(cluster, arguments):
    tools.check_machine()
    settings = cluster.settings
    if settings and settings["nodes"] != arguments.nodes:
        raise SetupError(f"cluster {cluster.name} exists with {settings['nodes']} nodes: run e2e/cluster down first")
    if settings and cluster.kubernetes != arguments.kubernetes:
        raise SetupError(f"cluster {cluster.name} exists with --kubernetes {cluster.kubernetes}: run e2e/cluster down first")
    begin = time.monotonic()
    tag, archives = images.ensure(say)
    programs = tools.Tools(tools.folders(arguments.kubernetes))
    if not settings:
        cluster.write_settings(nodes=arguments.nodes, kubernetes=arguments.kubernetes,
                               s3_access_key=f"e2e-{secrets.token_hex(4)}", s3_secret_key=secrets.token_hex(16))
    cluster.write_settings(image_tag=tag, tools=[str(place) for place in programs.places])
    try:
        certificates.ensure(cluster)
        network.ensure_control_plane(cluster)
        control_plane = ControlPlane(cluster, programs)
        control_plane.ensure()
        nodes = [Node(cluster, name, programs) for name in cluster.node_names]
        for node in nodes:
            node.ensure()
        for node in nodes:
            node.wait_until_ready(control_plane)
            node.import_images(archives)
    except BaseException:  # Ctrl-C too
        if settings:
            say(f"failed; cluster {cluster.name} existed before and is kept (logs: {cluster.logs})")
        else:  # take down what was started
            say(f"failed; taking it down (logs stay in {cluster.logs} until the next up or down)")
            teardown.remove(cluster, keep_logs=True)
        raise
    say(f"cluster {cluster.name} is up after {time.monotonic() - begin:.0f} s")


def check(_, __):
    obstacle = machine.obstacle() or machine.shortage()
    if obstacle:
        print(f"e2e/cluster: this machine cannot host a cluster: {obstacle}", file=sys.stderr)
        return UNFIT_STATUS
    return 0


def packages(_, __):
    for name in tools.missing_packages():
        print(name)


def down(cluster, _):
    center = pathlib.Path("/run/netns") / cluster.control_plane_namespace
    if center.exists() and center.stat().st_ino == pathlib.Path("/proc/self/ns/net").stat().st_ino:
        raise SetupError("`down` cannot run inside `exec`, because it would end itself")
    teardown.remove(cluster)
    say(f"cluster {cluster.name} is removed")


def status(cluster, _):
    if not cluster.settings:
        say(f"cluster {cluster.name} does not exist")
        return 1
    programs = _Programs(cluster)
    watched = [*programs.control_plane.programs.values(), *(node.program for node in programs.nodes)]
    for program in watched:
        print(f"{program.name:<20} {'running' if program.is_running() else 'ended'}")
    if not all(program.is_running() for program in watched):
        return 1
    print(programs.control_plane.kubectl("get", "nodes"), end="")
    return 0


def execute(cluster, arguments):
    settings = cluster.settings
    if not settings:
        raise SetupError(f"cluster {cluster.name} does not exist: e2e/cluster up --name {cluster.name}")
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig),
                   "PATH": ":".join([*settings["tools"], os.environ.get("PATH", "")]),
                   "ESPALIER_E2E_CLUSTER": cluster.name,
                   "ESPALIER_E2E_IMAGES": images.PREFIX, "ESPALIER_E2E_TAG": settings["image_tag"],
                   "ESPALIER_E2E_PROMETHEUS": f"http://{GATEWAY}:{PROMETHEUS_PORT}",
                   "AWS_ENDPOINT_URL_S3": f"http://{GATEWAY}:{S3_PORT}", "AWS_REGION": "us-east-1",
                   "AWS_ACCESS_KEY_ID": settings["s3_access_key"],
                   "AWS_SECRET_ACCESS_KEY": settings["s3_secret_key"]}
    command = within(cluster.control_plane_namespace, arguments.command)
    os.execvpe(command[0], command, environment)


def load_image(cluster, arguments):
    if not arguments.archive.is_file():
        raise SetupError(f"no file {arguments.archive}")
    for node in _Programs(cluster).nodes:
        node.load_image(arguments.archive.resolve())


def kill_node(cluster, arguments):
    _Programs(cluster).node(arguments.node).kill()


def start_node(cluster, arguments):
    programs = _Programs(cluster)
    node = programs.node(arguments.node)
    node.ensure()
    node.wait_until_ready(programs.control_plane)


def cut_node(cluster, arguments):
    network.set_cable(cluster, _Programs(cluster).node(arguments.node).name, is_plugged_in=False)


def join_node(cluster, arguments):
    programs = _Programs(cluster)
    node = programs.node(arguments.node)
    network.set_cable(cluster, node.name, is_plugged_in=True)
    node.wait_until_ready(programs.control_plane)


def cut_between(cluster, arguments):
    network.set_way_between(cluster, _two_nodes(cluster, arguments.nodes), is_open=False)


def join_between(cluster, arguments):
    network.set_way_between(cluster, _two_nodes(cluster, arguments.nodes), is_open=True)


def _two_nodes(cluster, names):
    programs = _Programs(cluster)
    if names[0] == names[1]:
        raise SetupError(f"{names[0]} is given twice: expected two nodes")
    return [programs.node(name).name for name in names]


def stop_s3(cluster, _):
    _Programs(cluster).control_plane.stop_s3()


def start_s3(cluster, _):
    _Programs(cluster).control_plane.ensure_s3()


class _Programs:
    """The programs of an existing cluster."""

    def __init__(self, cluster):
        if not cluster.settings:
            raise SetupError(f"cluster {cluster.name} does not exist")
        found = tools.Tools([pathlib.Path(place) for place in cluster.settings["tools"]])
        self.control_plane = ControlPlane(cluster, found)
        self.nodes = [Node(cluster, name, found) for name in cluster.node_names]

    def node(self, name):
        for node in self.nodes:
            if node.name == name:
                return node
        raise SetupError(f"no node {name}: there are {', '.join(node.name for node in self.nodes)}")


@contextlib.contextmanager
def _alone(cluster, patience=0):
    """A block that only one command of a cluster runs at a time. Waits up to `patience` seconds for another command."""
    path = cluster.folder.with_name(cluster.folder.name + ".lock")
    deadline = time.monotonic() + patience
    with contextlib.ExitStack() as stack:
        while not _lock(path, stack):
            if time.monotonic() >= deadline:
                raise SetupError(f"another command works on cluster {cluster.name}")
            time.sleep(0.2)
        try:
            yield
        finally:
            if not cluster.folder.exists():
                path.unlink(missing_ok=True)


def _lock(path, stack):
    """Returns True if it has locked the file at `path` until the stack ends. Another command may have removed the file after
    it was opened here; such a lock does not count, because other commands lock a new file."""
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
            stack.push(file)
            return True
    except (BlockingIOError, FileNotFoundError):
        pass
    file.close()
    return False


def _parser(description):
    parser = argparse.ArgumentParser(prog="e2e/cluster", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command_name", required=True)
    for name, function in [("check", check), ("packages", packages), ("up", up), ("status", status), ("exec", execute),
                           ("load-image", load_image), ("kill-node", kill_node), ("start-node", start_node),
                           ("cut-node", cut_node), ("join-node", join_node), ("cut-between", cut_between),
                           ("join-between", join_between), ("stop-s3", stop_s3), ("start-s3", start_s3),
                           ("down", down)]:
        command = commands.add_parser(name)
        command.set_defaults(function=function, is_exclusive=name not in ("check", "packages", "status", "exec"),
                             patience=PATIENCE.get(name, 0))
        command.add_argument("--name", default="main")
        if name == "up":
            command.add_argument("--nodes", type=int, choices=range(1, 10), default=2, metavar="1-9")
            command.add_argument("--kubernetes", choices=list(tools.KUBERNETES), default="default")
        if name == "exec":
            command.add_argument("command", nargs="+")
        if name == "load-image":
            command.add_argument("archive", type=pathlib.Path, metavar="ARCHIVE")
        if name.endswith("-node"):
            command.add_argument("node")
        if name.endswith("-between"):
            command.add_argument("nodes", nargs=2, metavar="NODE")
    parser.error = lambda message: (parser.print_usage(sys.stderr), print(message, file=sys.stderr),
                                    sys.exit(USAGE_STATUS))
    return parser


def main(argv, description):
    arguments = _parser(description).parse_args(argv)
    # Like Ctrl-C, which a shell's background processes ignore: `up` takes down what it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        cluster = Cluster(arguments.name)
        with _alone(cluster, arguments.patience) if arguments.is_exclusive else contextlib.nullcontext():
            return arguments.function(cluster, arguments) or 0
    except SetupError as error:
        print(f"e2e/cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
