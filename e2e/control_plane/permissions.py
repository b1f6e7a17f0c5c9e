"""What an operator may do: operator/rbac/role.yaml, nothing more, in the two ways in which the chart grants it."""

from .api_server import OPERATORS, REPOSITORY

GROUP = "rbac.authorization.k8s.io"
SYSTEM_NAMESPACE = "espalier-system"  # of operators and their Lease
ROLE = "espalier-operator"
LEASE_ROLE = "espalier-operator-lease"


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


def allow_in(plane, user, namespace):
    """As the chart does for one namespace: the Role itself, there."""
    plane.apply(REPOSITORY / "operator" / "rbac" / "role.yaml", f"--namespace={namespace}")
    plane.api.create(_binding("RoleBinding", user, "Role", ROLE), namespace)


def allow_lease_in(plane, user, namespace):
    """Lets the user take the Lease there. The namespace has the Roles already."""
    plane.api.create(_binding("RoleBinding", user, "Role", LEASE_ROLE), namespace)
