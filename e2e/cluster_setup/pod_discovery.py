#!/usr/bin/env python3
"""Serves the cluster's pods as targets for Prometheus by HTTP (its http_sd_configs), because Debian's Prometheus lacks the
discovery of Kubernetes.

Each port of a container is a target. It has those labels of Prometheus' own discovery of pods that scraping.py uses. If the
API server does not respond, this program does not respond either, and Prometheus keeps the targets of the last response.

  pod_discovery.py KUBECONFIG PORT      serves on loopback until it is ended
"""

import http.client
import http.server
import json
import re
import socketserver
import ssl
import sys
import urllib.parse

API_SECONDS = 5
PREFIX = "__meta_kubernetes_"


def label_name(text):
    """Converts a name of Kubernetes as Prometheus does: espalier.io/job becomes espalier_io_job."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", text)


def targets(pods):
    """Returns the response of http_sd for a list of pods, without the pods that have no address."""
    found = []
    for pod in pods:
        metadata, status = pod["metadata"], pod.get("status", {})
        if not status.get("podIP"):
            continue
        labels = {f"{PREFIX}namespace": metadata["namespace"], f"{PREFIX}pod_name": metadata["name"],
                  f"{PREFIX}pod_phase": status.get("phase", "")}
        for name, value in metadata.get("labels", {}).items():
            labels[f"{PREFIX}pod_label_{label_name(name)}"] = value
            labels[f"{PREFIX}pod_labelpresent_{label_name(name)}"] = "true"
        for container in pod["spec"]["containers"]:
            for port in container.get("ports", []):
                found.append({"targets": [f"{status['podIP']}:{port['containerPort']}"],
                              "labels": {**labels, f"{PREFIX}pod_container_name": container["name"],
                                         f"{PREFIX}pod_container_port_name": port.get("name", "")}})
    return found


class Pods:
    """The pods of the API server in a kubeconfig of certificates.py. Opens a connection for each request."""

    def __init__(self, kubeconfig):
        with open(kubeconfig) as file:
            configuration = json.load(file)
        cluster, user = configuration["clusters"][0]["cluster"], configuration["users"][0]["user"]
        self._server = urllib.parse.urlsplit(cluster["server"])
        self._context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._context.load_cert_chain(user["client-certificate"], user["client-key"])

    def list(self):
        connection = http.client.HTTPSConnection(self._server.hostname, self._server.port, context=self._context,
                                                 timeout=API_SECONDS)
        try:
            connection.request("GET", "/api/v1/pods?resourceVersion=0")
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise ConnectionError(f"the API server answers {answer.status}: {body[:200]}")
        return json.loads(body)["items"]


class Handler(http.server.BaseHTTPRequestHandler):
    pods = None  # set by main

    def do_GET(self):
        try:
            status, body = 200, json.dumps(targets(self.pods.list())).encode()
        except (OSError, http.client.HTTPException, ValueError) as error:
            print(f"no list of pods: {error!r}", file=sys.stderr, flush=True)
            status, body = 503, f"{error!r}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *_):
        """Logs nothing, because requests arrive every other second."""


class Server(socketserver.ThreadingTCPServer):
    """A server that does not look up its own name in DNS, unlike http.server's."""
    allow_reuse_address = True
    daemon_threads = True


def main():
    kubeconfig, port = sys.argv[1:]
    Handler.pods = Pods(kubeconfig)
    Server(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
