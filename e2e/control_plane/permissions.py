"""Grants an operator exactly the permissions of operator/rbac/role.yaml, in the two ways in which the chart does."""

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
    """Creates the file's Roles in the operators' namespace, and the first also as a ClusterRole that is not bound yet."""
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
    """Binds the user to the Role in one namespace, as the chart does."""
    plane.apply(REPOSITORY / "operator" / "rbac" / "role.yaml", f"--namespace={namespace}")
    plane.api.create(_binding("RoleBinding", user, "Role", ROLE), namespace)
    _wait_until_allowed(plane, user, {**LIST_JOBS, "namespace": namespace})


def allow_queues_in(plane, user, namespace):
    """Grants Workloads in one namespace, and Kueue's cluster-scoped kinds, as the chart does with kueue.enabled."""
    plane.apply(REPOSITORY / "operator" / "rbac" / "kueue_role.yaml", f"--namespace={namespace}")
    plane.apply(REPOSITORY / "operator" / "rbac" / "kueue_cluster_role.yaml")
    plane.api.create(_binding("RoleBinding", user, "Role", QUEUE_ROLE), namespace)
    plane.api.create(_binding("ClusterRoleBinding", user, "ClusterRole", QUEUE_CLUSTER_ROLE))
    _wait_until_allowed(plane, user, {**LIST_WORKLOADS, "namespace": namespace})
    _wait_until_allowed(plane, user, GET_FLAVORS)


def allow_gangs_in(plane, user, namespace):
    """Grants PodGroups in one namespace, as the chart does with gangScheduling.enabled."""
    plane.apply(REPOSITORY / "operator" / "rbac" / "gang_role.yaml", f"--namespace={namespace}")
    plane.api.create(_binding("RoleBinding", user, "Role", GANG_ROLE), namespace)
    _wait_until_allowed(plane, user, {**LIST_POD_GROUPS, "namespace": namespace})


def allow_lease_in(plane, user, namespace):
    """Lets the user take the Lease in the namespace, which already has the Roles."""
    plane.api.create(_binding("RoleBinding", user, "Role", LEASE_ROLE), namespace)
    _wait_until_allowed(plane, user, {**CREATE_LEASES, "namespace": namespace})


def _wait_until_allowed(plane, user, what):
    """Waits until the API server has read the roles and bindings; until then it refuses requests."""
    def is_allowed():
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                  "spec": {"user": user, "resourceAttributes": what}}
        return plane.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]
    wait_until(is_allowed, EFFECT_SECONDS, f"{user} may {what['verb']} {what['resource']}")
