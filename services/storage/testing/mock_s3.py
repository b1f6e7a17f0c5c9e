#!/usr/bin/env python3
"""An S3 service in memory with the quirks of certain stores. Its error responses are copied from real stores.

usage: mock_s3.py PORT QUIRK[,QUIRK...] [LOG]

It listens on 127.0.0.1 and verifies no signatures. PORT 0 selects a free port; the program prints the port. With LOG,
it appends a line for each request to that file: method, path, status, and the headers that quirks concern.

quirks:
  plain             no quirk: stores checksums of whole objects, like AWS
  no-checksums      400 to uploads with x-amz-checksum-* headers (Backblaze B2 before July 2025)
  no-checksum-mode  400 to downloads that request checksums
  composite-only    the checksum of a multipart object is that of its parts' checksums (MinIO before 2025)
  region=NAME       301 to requests that are signed for another region
  silent-region=NAME  400 to these requests, with the region in the body only, which HEAD does not have (Garage)
  bucket=NAME       no other bucket exists
  web-server        404 with a web page to every request (a web server)
  empty-server      404 with an empty body to every request
  page-server       200 with a web page to every request (an application of one page)
  json-server       200 with JSON to every request (an API behind a wrong port); json-404-server: 404
  blank-server      200 with an empty body to every request
  no-delete         403 to every deletion (credentials without s3:DeleteObject)
"""

import base64
import hashlib
import html
import re
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

CHECKSUM_HEADER = re.compile(r"x-amz-(sdk-)?checksum", re.IGNORECASE)
LOGGED_HEADER = re.compile(r"x-amz-(sdk-)?checksum|if-|range", re.IGNORECASE)
WRITER_HEADER = "x-amz-meta-espalier-writer"


def encode_crc32(data):
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


def make_etag(data):
    return f'"{hashlib.md5(data).hexdigest()}"'


class Refusal(Exception):
    def __init__(self, status, code, message, headers=()):
        super().__init__(code)
        self.status, self.headers = status, headers
        self.body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>'


class OtherService(Refusal):
    """The response of a server that is not an S3 service."""

    def __init__(self, status, content_type="", body=""):
        super().__init__(status, "", "", [("Content-Type", content_type), ("ETag", 'W/"1"')] if body else [])
        self.body = body


OTHER_SERVICES = {
    "web-server": (404, "text/html", "<!DOCTYPE html><html><head><title>404 Not Found</title></head></html>"),
    "empty-server": (404,),
    "page-server": (200, "text/html", "<!DOCTYPE html><html><head><title>Welcome</title></head></html>"),
    "json-server": (200, "application/json", '{"status":"ok"}'),
    "json-404-server": (404, "application/json", '{"error":"no such path"}'),
    "blank-server": (200,),
}


class Store:
    """The objects and uploads of all buckets. Used by one request at a time."""

    def __init__(self, quirks):
        self.quirks = quirks
        self.objects = {}  # (bucket, key) -> (bytes, writer, checksum header or None)
        self.uploads = {}  # id -> (writer, number -> bytes)
        self.num_uploads = 0
        self.lock = threading.Lock()

    def value_of(self, quirk):
        return next((q.partition("=")[2] for q in self.quirks if q.startswith(quirk + "=")), None)

    def check(self, request, bucket):
        """Raises the errors of the quirks, before the operation is performed."""
        for quirk in OTHER_SERVICES.keys() & set(self.quirks):
            raise OtherService(*OTHER_SERVICES[quirk])
        for quirk in ("region", "silent-region"):
            region = self.value_of(quirk)
            signed_for = re.search(r"Credential=[^/]+/\d+/([^/]+)/s3", request.headers.get("Authorization", ""))
            if region is None or signed_for is None or signed_for[1] == region:
                continue
            if quirk == "region":
                raise Refusal(301, "PermanentRedirect", "The bucket you are attempting to access must be addressed using "
                              "the specified endpoint. Please send all future requests to this endpoint.",
                              [("x-amz-bucket-region", region)])
            raise Refusal(400, "AuthorizationHeaderMalformed", f"The authorization header is malformed; the region "
                          f"'{signed_for[1]}' is wrong; expecting '{region}'")
        checksums = [name for name in request.headers if CHECKSUM_HEADER.match(name)]
        refused = "no-checksum-mode" if request.command in ("GET", "HEAD") else "no-checksums"
        if checksums and refused in self.quirks:
            raise Refusal(400, "InvalidArgument", f"Unsupported header '{checksums[0].lower()}' received for this API "
                          "call.")
        if self.value_of("bucket") not in (None, bucket):
            raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist")
        if "no-delete" in self.quirks and (request.command == "DELETE" or "?delete" in request.path):
            raise Refusal(403, "AccessDenied", "Access Denied.")

    def upload(self, query):
        if query["uploadId"] not in self.uploads:
            raise Refusal(404, "NoSuchUpload", "The specified multipart upload does not exist.")
        return self.uploads[query["uploadId"]]

    def put(self, bucket, key, query, headers, body):
        sent = headers.get("x-amz-checksum-crc32")
        if sent is not None and sent != encode_crc32(body):
            raise Refusal(400, "BadDigest", "The CRC32 you specified did not match the calculated checksum.")
        if "uploadId" in query:
            self.upload(query)[1][int(query["partNumber"])] = body
        else:
            if headers.get("If-None-Match") == "*" and (bucket, key) in self.objects:
                raise Refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
            self.objects[bucket, key] = (body, headers.get(WRITER_HEADER), sent)
        return 200, b"", [("ETag", make_etag(body))]

    def begin(self, bucket, key, headers):
        upload_id = f"upload{self.num_uploads}"
        self.num_uploads += 1
        self.uploads[upload_id] = (headers.get(WRITER_HEADER), {})
        answer = []
        if "composite-only" not in self.quirks and headers.get("x-amz-checksum-type"):
            answer = [("x-amz-checksum-algorithm", "CRC32"), ("x-amz-checksum-type", headers["x-amz-checksum-type"])]
        return 200, (f"<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>"
                     f"{upload_id}</UploadId></InitiateMultipartUploadResult>"), answer

    def complete(self, bucket, key, query, headers):
        writer, parts = self.upload(query)
        data = b"".join(parts[number] for number in sorted(parts))
        expected = encode_crc32(data)
        if "composite-only" in self.quirks:
            expected = encode_crc32(b"".join(zlib.crc32(parts[number]).to_bytes(4, "big") for number in sorted(parts)))
        sent = headers.get("x-amz-checksum-crc32")
        if sent is not None and sent != expected:
            raise Refusal(400, "XAmzContentChecksumMismatch",
                          "The provided 'x-amz-checksum' header does not match what was computed.")
        del self.uploads[query["uploadId"]]
        self.objects[bucket, key] = (data, writer, sent)
        return 200, (f"<CompleteMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key>"
                     f"<ETag>{escape(make_etag(data))}</ETag></CompleteMultipartUploadResult>"), []

    def delete(self, bucket, key, query):
        if "uploadId" in query:
            self.uploads.pop(query["uploadId"], None)
        else:
            self.objects.pop((bucket, key), None)
        return 204, b"", []

    def delete_many(self, bucket, body):
        for key in re.findall(r"<Key>(.*?)</Key>", body.decode(), flags=re.DOTALL):
            self.objects.pop((bucket, html.unescape(key)), None)
        return 200, "<DeleteResult></DeleteResult>", []

    def list(self, bucket, query):
        prefix = query.get("prefix", "")
        is_encoded = query.get("encoding-type") == "url"
        listing = "<EncodingType>url</EncodingType>" if is_encoded else ""
        for (of_bucket, key), (data, _, _) in sorted(self.objects.items()):
            if of_bucket == bucket and key.startswith(prefix):
                name = quote(key, safe="/") if is_encoded else escape(key)
                listing += (f"<Contents><Key>{name}</Key><Size>{len(data)}</Size>"
                            f"<ETag>{escape(make_etag(data))}</ETag></Contents>")
        return 200, (f"<ListBucketResult><Name>{bucket}</Name><IsTruncated>false</IsTruncated>{listing}"
                     "</ListBucketResult>"), []

    def get(self, bucket, key, headers):
        if (bucket, key) not in self.objects:
            raise Refusal(404, "NoSuchKey", "The specified key does not exist.")
        data, writer, checksum = self.objects[bucket, key]
        answer = [("ETag", make_etag(data))] + ([(WRITER_HEADER, writer)] if writer else [])
        if headers.get("If-Match") not in (None, make_etag(data)):
            raise Refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("Range", ""))
        if not wanted:
            if checksum and headers.get("x-amz-checksum-mode") == "ENABLED":
                answer.append(("x-amz-checksum-crc32", checksum))
            return 200, data, answer
        first, last = int(wanted[1]), min(int(wanted[2]), len(data) - 1)
        if first >= len(data):
            raise Refusal(416, "InvalidRange", "The requested range is not satisfiable")
        return 206, data[first:last + 1], answer + [("Content-Range", f"bytes {first}-{last}/{len(data)}")]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        store = self.server.store
        own_headers = [("x-amz-request-id", "MOCK1")]
        try:
            with store.lock:
                store.check(self, bucket)
                status, content, headers = self.serve(store, bucket, key, query, body)
        except Refusal as refusal:
            status, content, headers = refusal.status, refusal.body, refusal.headers
            own_headers = [] if isinstance(refusal, OtherService) else own_headers
        self.write(status, content.encode() if isinstance(content, str) else content, [*headers, *own_headers])

    def serve(self, store, bucket, key, query, body):
        if self.command == "PUT":
            return store.put(bucket, key, query, self.headers, body)
        if self.command == "DELETE":
            return store.delete(bucket, key, query)
        if self.command == "POST":
            if "delete" in query:
                return store.delete_many(bucket, body)
            if "uploads" in query:
                return store.begin(bucket, key, self.headers)
            return store.complete(bucket, key, query, self.headers)
        return store.get(bucket, key, self.headers) if key else store.list(bucket, query)

    def write(self, status, content, headers):
        if self.server.log:
            notable = " ".join(f"{name}={value}" for name, value in self.headers.items() if LOGGED_HEADER.match(name))
            self.server.log.write(f"{self.command} {self.path} {status} {notable}\n")
            self.server.log.flush()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, port, quirks, log):
        super().__init__(("127.0.0.1", port), Handler)
        self.store = Store(quirks)
        self.log = log


if __name__ == "__main__":
    server = Server(int(sys.argv[1]), sys.argv[2].split(","), open(sys.argv[3], "a") if len(sys.argv) > 3 else None)
    print(server.server_address[1], flush=True)
    server.serve_forever()
