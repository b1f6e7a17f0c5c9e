"""What an operator may do: operator/rbac/role.yaml, nothing more, in the two ways in which the chart grants it."""

from .api_server import OPERATORS, REPOSITORY
from .processes import wait_until

GROUP = "rbac.authorization.k8s.io"
SYSTEM_NAMESPACE = "espalier-system"  # of operators and their Lease
ROLE = "espalier-operator"
LEASE_ROLE = "espalier-operator-lease"
QUEUE_ROLE = "espalier-operator-kueue"
GANG_ROLE = "espalier-operator-gangs"
QUEUE_CLUSTER_ROLE = "espalier-operator-kueue-reader"
# One request that each role allows.
LIST_JOBS = {"group": "batch", "resource": "jobs", "verb": "list"}
LIST_WORKLOADS = {"group": "kueue.x-k8s.io", "resource": "workloads", "verb": "list"}
LIST_POD_GROUPS = {"group": "scheduling.k8s.io", "resource": "podgroups", "verb": "list"}
GET_FLAVORS = {"group": "kueue.x-k8s.io", "resource": "resourceflavors", "verb": "get"}
CREATE_LEASES = {"group": "coordination.k8s.io", "resource": "leases", "verb": "create"}
EFFECT_SECONDS = 30


def _binding(kind, user, role_kind, role):
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": user.rsplit(":", 1)[-1] + "-" + role},
            "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}]}


def install_roles(plane):
    """The file's Roles in the operators' namespace; the first as a ClusterRole too, which nobody has yet."""
    plane.make_namespace(SYSTEM_NAMESPACE)
    plane.apply(REPOSITORY / "operator" / "rbac" / "role.yaml", f"--namespace={SYSTEM_NAMESPACE}")
    rules = plane.api.get("Role", SYSTEM_NAMESPACE, ROLE)["rules"]
    plane.api.create({"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": ROLE}, "rules": rules})
    for user in OPERATORS:
        allow_lease_in(plane, user, SYSTEM_NAMESPACE)


def allow_everywhere(plane, user):
    plane.api.create(_binding("ClusterRoleBinding", user, "ClusterRole", ROLE))
    _wait_until_allowed(plane, user, LIST_JOBS)


def allow_in(plane, user, namespace):
    """As the chart does for one namespace: the Role itself, there."""
    plane.apply(REPOSITORY / "operator" / "rbac" / "role.yaml", f"--namespace={namespace}")
    plane.api.create(_binding("RoleBinding", user, "Role", ROLE), namespace)
    _wait_until_allowed(plane, user, {**LIST_JOBS, "namespace": namespace})


def allow_queues_in(plane, user, namespace):
    """As the chart does for one namespace with kueue.enabled: Workloads there, and Kueue's kinds outside of namespaces."""
    plane.apply(REPOSITORY / "operator" / "rbac" / "kueue_role.yaml", f"--namespace={namespace}")
    plane.apply(REPOSITORY / "operator" / "rbac" / "kueue_cluster_role.yaml")
    plane.api.create(_binding("RoleBinding", user, "Role", QUEUE_ROLE), namespace)
    plane.api.create(_binding("ClusterRoleBinding", user, "ClusterRole", QUEUE_CLUSTER_ROLE))
    _wait_until_allowed(plane, user, {**LIST_WORKLOADS, "namespace": namespace})
    _wait_until_allowed(plane, user, GET_FLAVORS)


def allow_gangs_in(plane, user, namespace):
    """As the chart does for one namespace with gangScheduling.enabled."""
    plane.apply(REPOSITORY / "operator" / "rbac" / "gang_role.yaml", f"--namespace={namespace}")
    plane.api.create(_binding("RoleBinding", user, "Role", GANG_ROLE), namespace)
    _wait_until_allowed(plane, user, {**LIST_POD_GROUPS, "namespace": namespace})


def allow_lease_in(plane, user, namespace):
    """Lets the user take the Lease there. The namespace has the Roles already."""
    plane.api.create(_binding("RoleBinding", user, "Role", LEASE_ROLE), namespace)
    _wait_until_allowed(plane, user, {**CREATE_LEASES, "namespace": namespace})


def _wait_until_allowed(plane, user, what):
    """The API server reads roles and bindings a moment after they were written, and refuses until then."""
    def is_allowed():
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                  "spec": {"user": user, "resourceAttributes": what}}
        return plane.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]
    wait_until(is_allowed, EFFECT_SECONDS, f"{user} may {what['verb']} {what['resource']}")
