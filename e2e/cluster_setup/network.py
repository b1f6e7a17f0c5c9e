"""The cluster's network: a bridge in the control plane's namespace, and a namespace for each node joined to it.

The machine's own network, routes and settings stay as they are."""

from cluster_setup.processes import run, within
from cluster_setup.state import GATEWAY, node_address, pod_range_of


def _shell(namespace, script):
    run(within(namespace, ["sh", "-ec", script]))


def ensure_control_plane(cluster):
    namespace = cluster.control_plane_namespace
    if namespace in cluster.namespaces():
        return
    run(["ip", "netns", "add", namespace])
    _shell(namespace, f"""
        ip link set lo up
        ip link add br0 type bridge
        ip addr add {GATEWAY}/24 dev br0
        ip link set br0 up
        sysctl -qw net.ipv4.ip_forward=1""")


def ensure_node(cluster, node):
    namespace, center = cluster.node_namespace(node), cluster.control_plane_namespace
    if namespace in cluster.namespaces():
        return
    link = f"v-{node}"
    run(["ip", "netns", "add", namespace])
    run(["ip", "-n", center, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace])
    run(["ip", "-n", center, "link", "set", link, "master", "br0", "up"])
    run(["ip", "-n", center, "route", "replace", pod_range_of(node), "via", node_address(node)])
    _shell(namespace, f"""
        ip link set lo up
        ip addr add {node_address(node)}/24 dev eth0
        ip link set eth0 up
        ip route add default via {GATEWAY}
        sysctl -qw net.ipv4.ip_forward=1""")
    for other in cluster.node_names:
        if other != node:
            _lead_to(cluster, node, other)


def _lead_to(cluster, node, other):
    _shell(cluster.node_namespace(node), f"ip route replace {pod_range_of(other)} via {node_address(other)}")


def set_cable(cluster, node, is_plugged_in):
    """Disconnects a node's only network link, or connects it again. The node's processes keep running."""
    run(["ip", "-n", cluster.control_plane_namespace, "link", "set", f"v-{node}", "up" if is_plugged_in else "down"])


def set_way_between(cluster, nodes, is_open):
    """Drops all packets between two nodes and their pods, or stops dropping them. Both nodes still reach all others, the
    API server and the store."""
    for node, other in (nodes, nodes[::-1]):
        if is_open:
            _lead_to(cluster, node, other)
        else:
            _shell(cluster.node_namespace(node), f"ip route replace blackhole {pod_range_of(other)}")
        _shell(cluster.node_namespace(node),
               f"ip route {'flush exact' if is_open else 'replace blackhole'} {node_address(other)}/32")
