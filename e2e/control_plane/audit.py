"""Requests of operators, read from the API server's audit log."""

import collections
import datetime
import json

WRITES = ("create", "update", "patch", "delete")


class Request:
    def __init__(self, event):
        target = event.get("objectRef", {})
        self.user = event["user"]["username"]
        self.verb = event["verb"]
        self.stage = event["stage"]
        self.resource = "/".join(filter(None, (target.get("resource"), target.get("subresource"))))
        self.namespace = target.get("namespace", "")
        self.name = target.get("name", "")
        self.uri = event["requestURI"]
        self.code = event.get("responseStatus", {}).get("code", 0)
        self.time = datetime.datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp()
        self.decision = event.get("annotations", {}).get("authorization.k8s.io/decision", "")

    @property
    def is_write(self):
        """Whether the request changed an object."""
        return self.verb in WRITES and "dryRun" not in self.uri and 200 <= self.code < 300

    def __str__(self):
        return f"{self.user.rsplit(':', 1)[-1]} {self.verb} {self.resource} {self.namespace}/{self.name}: {self.code}"


class AuditLog:
    """The requests of `users`, without those that were in the log before this object was created."""

    def __init__(self, path, users):
        self.path = path
        self.users = frozenset(users)
        self.offset = path.stat().st_size if path.exists() else 0

    def requests(self):
        """Returns the requests in the order of their arrival; a watch appears once, at its beginning."""
        found = []
        with open(self.path, "rb") as log:
            log.seek(self.offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break  # incomplete: the API server is still writing it
                request = Request(json.loads(line))
                if request.user in self.users and (request.verb != "watch" or request.stage == "ResponseStarted"):
                    found.append(request)
        return sorted(found, key=lambda request: request.time)

    def forbidden(self, unready=()):
        """Returns the requests that RBAC refused. A 403 of a quota is not one of them, because RBAC allowed it. Ignores the
        intervals `unready`, in which a starting server refuses all requests because it has not read the roles."""
        return [request for request in self.requests() if request.decision == "forbid"
                and not any(began <= request.time <= ended for began, ended in unready)]

    def by_verb(self):
        return collections.Counter(request.verb for request in self.requests())

    def by_verb_and_resource(self):
        return collections.Counter((request.verb, request.resource) for request in self.requests())
