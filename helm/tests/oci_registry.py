"""An OCI registry in memory on a free port of 127.0.0.1. It has the part of the distribution specification that helm uses,
without authentication. Uploads are in one piece or in chunks. A digest that does not match its bytes is refused."""

import hashlib
import http.server
import json
import re
import threading
import urllib.parse

BLOB = re.compile(r"/v2/(.+)/blobs/(sha256:[0-9a-f]{64})")
UPLOAD = re.compile(r"/v2/(.+)/blobs/uploads/(\w*)")
MANIFEST = re.compile(r"/v2/(.+)/manifests/(.+)")


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class OciRegistry:
    """A context manager that serves until it is closed. `manifests` and `blobs` may be read after that."""

    def __init__(self):
        self.blobs = {}  # (repository, digest): bytes
        self.manifests = {}  # (repository, tag or digest): (media type, bytes)
        self.uploads = {}  # id: bytes so far
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("OfThisRegistry", (_Handler,), {"registry": self}))
        self.address = f"127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, data=b"", **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def refuse(self, code, reason):
        self.answer(code, json.dumps({"errors": [{"code": reason}]}).encode(), Content_Type="application/json")

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        if self.path == "/v2/":
            return self.answer(200)
        if match := BLOB.fullmatch(self.path):
            data = self.registry.blobs.get((match[1], match[2]))
            if data is None:
                return self.refuse(404, "BLOB_UNKNOWN")
            return self.answer(200, data, Docker_Content_Digest=match[2], Content_Type="application/octet-stream")
        if match := MANIFEST.fullmatch(self.path):
            if (match[1], match[2]) not in self.registry.manifests:
                return self.refuse(404, "MANIFEST_UNKNOWN")
            kind, data = self.registry.manifests[match[1], match[2]]
            return self.answer(200, data, Docker_Content_Digest=digest_of(data), Content_Type=kind)
        return self.refuse(404, "UNSUPPORTED")

    do_HEAD = do_GET

    def do_POST(self):
        if not (match := UPLOAD.fullmatch(self.path)):
            return self.refuse(404, "UNSUPPORTED")
        self.body()
        name = f"upload{len(self.registry.uploads)}"
        self.registry.uploads[name] = b""
        return self.answer(202, Location=f"/v2/{match[1]}/blobs/uploads/{name}")

    def do_PATCH(self):
        if not (match := UPLOAD.fullmatch(self.path)):
            return self.refuse(404, "UNSUPPORTED")
        self.registry.uploads[match[2]] += self.body()
        return self.answer(202, Location=self.path)

    def do_PUT(self):
        url = urllib.parse.urlsplit(self.path)
        data = self.body()
        if match := UPLOAD.fullmatch(url.path):
            data = self.registry.uploads.pop(match[2]) + data
            digest = urllib.parse.parse_qs(url.query)["digest"][0]
            if digest != digest_of(data):
                return self.refuse(400, "DIGEST_INVALID")
            self.registry.blobs[match[1], digest] = data
            return self.answer(201, Location=f"/v2/{match[1]}/blobs/{digest}")
        if match := MANIFEST.fullmatch(url.path):
            manifest = json.loads(data)
            for part in (manifest["config"], *manifest["layers"]):
                if (match[1], part["digest"]) not in self.registry.blobs:
                    return self.refuse(404, "MANIFEST_BLOB_UNKNOWN")
            for reference in (match[2], digest_of(data)):
                self.registry.manifests[match[1], reference] = (self.headers["Content-Type"], data)
            return self.answer(201, Location=f"/v2/{match[1]}/manifests/{digest_of(data)}", Docker_Content_Digest=digest_of(data))
        return self.refuse(404, "UNSUPPORTED")
