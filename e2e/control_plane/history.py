"""Records all objects that the operator has created and deleted, with watches that began before the first one."""

import collections
import threading

from .api import ApiError, path_of
from .children import OWNED
from .cluster import OURS
from .jobs import COMPONENT, INCARNATION, LABEL, TERMINAL, label

INDEX = "batch.kubernetes.io/job-completion-index"


class History:
    """Watches the objects of `namespaces` until stop. Read the results after stop."""

    def __init__(self, plane, namespaces):
        self.api = plane.api
        self.namespaces = frozenset(namespaces)
        self.lock = threading.Lock()
        self.uids = collections.defaultdict(set)  # (kind, namespace, name) -> uids of all objects with that name
        self.pods_of = collections.defaultdict(set)  # (Job's uid, index) -> uids
        self.living_trainers = collections.defaultdict(dict)  # (namespace, job) -> {uid: incarnation}
        self.overlaps = []
        self.gaps = []
        self.stopping = False
        self.threads = [threading.Thread(target=self._follow, args=(kind, self._list(kind)), daemon=True)
                        for kind in (*OWNED, "Pod")]
        for thread in self.threads:
            thread.start()

    def stop(self):
        """Ends the watches, after the events that are under way: each watch has a short timeout."""
        self.stopping = True
        for thread in self.threads:
            thread.join(timeout=30)

    def made_twice(self):
        """Returns messages about names that several objects have had and about indices of a Job with several pods."""
        twice = [f"{kind} {namespace}/{name} was made {len(uids)} times"
                 for (kind, namespace, name), uids in self.uids.items() if len(uids) > 1]
        return twice + [f"{len(uids)} pods of one index: {sorted(uids)}"
                        for uids in self.pods_of.values() if len(uids) > 1]

    def names(self, kind, namespace):
        with self.lock:
            return {name for (of, where, name) in self.uids if of == kind and where == namespace}

    def _list(self, kind):
        listed = self.api.request("GET", path_of(kind, labelSelector=OURS))
        for thing in listed["items"]:
            self._take(kind, "ADDED", thing)
        return listed["metadata"]["resourceVersion"]

    def _follow(self, kind, version):
        while not self.stopping:
            try:
                for event in self.api.watch(kind, version, OURS, seconds=5):
                    if event["type"] == "ERROR":
                        raise ApiError(event["object"].get("code", 0), event["object"])
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._take(kind, event["type"], event["object"])
            except ApiError as error:
                self.gaps.append(f"watching {kind}: {error}")
                return
            except OSError:
                pass  # the watch begins again at the last version

    def _take(self, kind, what, thing):
        meta = thing["metadata"]
        if meta["namespace"] not in self.namespaces:
            return
        with self.lock:
            if kind != "Pod":
                self.uids[kind, meta["namespace"], meta["name"]].add(meta["uid"])
            else:
                self._take_pod(what, thing)

    def _take_pod(self, what, pod):
        meta = pod["metadata"]
        owner = meta["ownerReferences"][0]
        if owner["kind"] == "Job":
            self.pods_of[owner["uid"], label(pod, INDEX)].add(meta["uid"])
        if label(pod, COMPONENT) != "trainer":
            return
        living = self.living_trainers[meta["namespace"], label(pod, LABEL)]
        if what == "DELETED" or pod.get("status", {}).get("phase") in TERMINAL:
            living.pop(meta["uid"], None)
            return
        incarnation = label(pod, INCARNATION)
        others = set(living.values()) - {incarnation}
        if others and meta["uid"] not in living:
            self.overlaps.append(f"{meta['name']} began while incarnation {others} was running")
        living[meta["uid"]] = incarnation
