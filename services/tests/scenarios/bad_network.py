"""An HTTP proxy in front of an object store in which a share of the requests fails, as in networks and services."""

import http.client
import http.server
import random
import threading
import urllib.parse
from collections import Counter

FAULTS = ["unavailable", "too many", "internal", "reset before", "reset after", "cut short"]


class BadNetwork:
    """Listens on a free port of the loopback. The outcome of the n-th try of a request depends on the seed, the request
    and n. At most five tries of one request fail in a row."""

    def __init__(self, endpoint, percent, seed):
        self.service = urllib.parse.urlsplit(endpoint).netloc
        self.percent, self.seed = percent, seed
        self.tries, self.in_a_row, self.met = Counter(), Counter(), Counter()
        self.num_requests = 0
        self.lock = threading.Lock()
        network = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                network.handle(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def draw(self, request):
        key = f"{request.command} {request.path.split('uploadId=')[0]} {request.headers.get('range', '')}"
        with self.lock:
            self.num_requests += 1
            self.tries[key] += 1
            dice = random.Random(f"{self.seed} {key} {self.tries[key]}")
            if dice.random() * 100 >= self.percent or self.in_a_row[key] == 5:
                self.in_a_row[key] = 0
                return ""
            self.in_a_row[key] += 1
            fault = dice.choice(FAULTS)
            self.met[fault] += 1
            return fault

    def handle(self, request):
        body = request.rfile.read(int(request.headers.get("content-length", 0)))
        fault = self.draw(request)
        refusal = {"unavailable": 503, "too many": 429, "internal": 500}.get(fault)
        if refusal:
            request.send_response(refusal)
            request.send_header("content-length", "0")
            request.end_headers()
            return
        request.close_connection = fault != ""
        if fault == "reset before":
            return
        inner = http.client.HTTPConnection(self.service, timeout=60)
        try:
            inner.request(request.command, request.path, body=body, headers=dict(request.headers))
            answer = inner.getresponse()
            content = answer.read()
        except OSError:  # the service cannot be reached
            request.close_connection = True
            return
        finally:
            inner.close()
        if fault == "reset after":
            return
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                request.send_header(name, value)
        length = answer.getheader("content-length") if request.command == "HEAD" else len(content)
        request.send_header("content-length", str(length or 0))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content[:len(content) // 2] if fault == "cut short" else content)
