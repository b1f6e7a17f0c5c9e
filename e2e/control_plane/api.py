"""A Kubernetes client of a few verbs, over the standard library."""

import http.client
import json
import ssl
import threading
import urllib.parse

# kind: (group and version, plural)
KINDS = {
    "DistTraining": ("apis/espalier.io/v1alpha1", "disttrainings"),
    "Job": ("apis/batch/v1", "jobs"),
    "StatefulSet": ("apis/apps/v1", "statefulsets"),
    "Pod": ("api/v1", "pods"),
    "Service": ("api/v1", "services"),
    "ServiceAccount": ("api/v1", "serviceaccounts"),
    "ConfigMap": ("api/v1", "configmaps"),
    "Secret": ("api/v1", "secrets"),
    "NetworkPolicy": ("apis/networking.k8s.io/v1", "networkpolicies"),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets"),
    "ResourceQuota": ("api/v1", "resourcequotas"),
    "Namespace": ("api/v1", "namespaces"),
    "Node": ("api/v1", "nodes"),
    "Role": ("apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    "ClusterRole": ("apis/rbac.authorization.k8s.io/v1", "clusterroles"),
    "ClusterRoleBinding": ("apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    "ResourceFlavor": ("apis/kueue.x-k8s.io/v1beta2", "resourceflavors"),
    "ClusterQueue": ("apis/kueue.x-k8s.io/v1beta2", "clusterqueues"),
    "LocalQueue": ("apis/kueue.x-k8s.io/v1beta2", "localqueues"),
    "Topology": ("apis/kueue.x-k8s.io/v1beta2", "topologies"),
    "WorkloadPriorityClass": ("apis/kueue.x-k8s.io/v1beta2", "workloadpriorityclasses"),
    "Workload": ("apis/kueue.x-k8s.io/v1beta2", "workloads"),
    "PodGroup": ("apis/scheduling.k8s.io/v1beta1", "podgroups"),
    "CustomResourceDefinition": ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
}
TIMEOUT_SECONDS = 30


class ApiError(Exception):
    def __init__(self, code, status):
        super().__init__(f"{code} {status.get('reason', '')}: {status.get('message', '')}")
        self.code = code


def path_of(kind, namespace=None, name=None, **query):
    base, plural = KINDS[kind]
    path = f"/{base}" + (f"/namespaces/{namespace}" if namespace else "") + f"/{plural}" + (f"/{name}" if name else "")
    return path + ("?" + urllib.parse.urlencode(query) if query else "")


class Api:
    """Thread-safe: each thread has a connection of its own."""

    def __init__(self, port, ca_file, token):
        self.port = port
        self.context = ssl.create_default_context(cafile=ca_file)
        self.headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self.of_thread = threading.local()

    def connect(self, timeout=TIMEOUT_SECONDS):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=timeout)

    def request(self, method, path, body=None, content_type="application/json"):
        """Returns the object of the response. ApiError: the server refused the request; OSError: the connection failed."""
        text = None if body is None else json.dumps(body)
        headers = dict(self.headers, **({"Content-Type": content_type} if body is not None else {}))
        connection = getattr(self.of_thread, "connection", None) or self.connect()
        self.of_thread.connection = None  # reused only after a complete response
        try:
            connection.request(method, path, text, headers)
            response = connection.getresponse()
            answer = response.read()
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            raise ConnectionError(f"{method} {path}: {error!r}") from error
        self.of_thread.connection = connection
        is_object = answer.lstrip().startswith(b"{")
        document = json.loads(answer) if is_object else {"message": answer.decode(errors="replace")}
        if response.status >= 300:
            raise ApiError(response.status, document)
        return document

    def get(self, kind, namespace, name):
        """Returns the object, or None if it does not exist."""
        try:
            return self.request("GET", path_of(kind, namespace, name))
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def list(self, kind, namespace=None, selector=""):
        query = {"labelSelector": selector} if selector else {}
        return self.request("GET", path_of(kind, namespace, **query))["items"]

    def create(self, document, namespace=None):
        return self.request("POST", path_of(document["kind"], namespace), document)

    def patch(self, kind, namespace, name, changes):
        return self.request("PATCH", path_of(kind, namespace, name), changes, "application/merge-patch+json")

    def patch_status(self, kind, namespace, name, changes):
        path = path_of(kind, namespace, name) + "/status"
        return self.request("PATCH", path, {"status": changes}, "application/merge-patch+json")

    def delete(self, kind, namespace, name):
        """Returns whether the object existed."""
        try:
            self.request("DELETE", path_of(kind, namespace, name), {"propagationPolicy": "Background"})
            return True
        except ApiError as error:
            if error.code == 404:
                return False
            raise

    def watch(self, kind, resource_version, selector="", seconds=300):
        """Yields events as they arrive, until the server ends the watch after `seconds`. OSError if the server is silent for
        longer than that."""
        query = {"watch": "1", "resourceVersion": resource_version, "timeoutSeconds": str(seconds),
                 "allowWatchBookmarks": "true"}
        if selector:
            query["labelSelector"] = selector
        connection = self.connect(timeout=seconds + TIMEOUT_SECONDS)
        try:
            connection.request("GET", path_of(kind, **query), headers=self.headers)
            response = connection.getresponse()
            if response.status >= 300:
                raise ApiError(response.status, json.loads(response.read()))
            for line in response:
                yield json.loads(line)
        except http.client.HTTPException as error:
            raise ConnectionError(f"watching {kind}: {error!r}") from error
        finally:
            connection.close()
