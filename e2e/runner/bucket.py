"""An S3 bucket, accessed with requests that curl signs and not with Espalier's own client."""

import hashlib
import json
import os
import urllib.parse
import xml.etree.ElementTree

from runner.commands import Failure, attempt, run

EMPTY = hashlib.sha256(b"").hexdigest()


class Bucket:
    def __init__(self, name, environment=os.environ):
        self.name = name
        self.endpoint = environment["AWS_ENDPOINT_URL_S3"]
        self.region = environment.get("AWS_REGION", "us-east-1")
        self.access_key = environment["AWS_ACCESS_KEY_ID"]
        self.secret_key = environment["AWS_SECRET_ACCESS_KEY"]

    def uri(self, key):
        return f"s3://{self.name}/{key}"

    def _curl(self, digest, *arguments):
        # Credentials are passed on standard input, because all users can read a command line.
        secrets = f'aws-sigv4 = "aws:amz:{self.region}:s3"\nuser = "{self.access_key}:{self.secret_key}"\n'
        return attempt(["curl", "--silent", "--show-error", "--fail-with-body", "--max-time", "50", "--config", "-",
                        "--header", f"x-amz-content-sha256: {digest}", *arguments], stdin=secrets)

    def _url(self, key):
        return f"{self.endpoint}/{self.name}/{urllib.parse.quote(key)}"

    def ensure(self):
        done = self._curl(EMPTY, "--request", "PUT", f"{self.endpoint}/{self.name}")
        if done.returncode != 0 and "BucketAlreadyOwnedByYou" not in done.stdout:
            raise Failure(f"bucket {self.name} at {self.endpoint}: {done.stdout or done.stderr}")

    def upload_folder(self, folder, prefix):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                done = self._curl(digest, "--upload-file", path, self._url(f"{prefix}/{path.relative_to(folder)}"))
                if done.returncode != 0:
                    raise Failure(f"upload of {path}: {done.stdout or done.stderr}")

    def keys(self, prefix):
        query = urllib.parse.urlencode({"list-type": 2, "prefix": prefix})
        done = self._curl(EMPTY, f"{self.endpoint}/{self.name}?{query}")
        if done.returncode != 0:
            raise Failure(f"listing {self.uri(prefix)}: {done.stdout or done.stderr}")
        tree = xml.etree.ElementTree.fromstring(done.stdout)
        space = tree.tag.partition("}")[0] + "}" if tree.tag.startswith("{") else ""
        if tree.findtext(f"{space}IsTruncated") == "true":
            raise Failure(f"more than a page of objects below {self.uri(prefix)}")
        return [entry.findtext(f"{space}Key") for entry in tree.iter(f"{space}Contents")]

    def json(self, key):
        done = self._curl(EMPTY, self._url(key))
        if done.returncode != 0:
            raise Failure(f"{self.uri(key)}: {done.stdout or done.stderr}")
        return json.loads(done.stdout)

    def put_json(self, key, value):
        text = json.dumps(value)
        digest = hashlib.sha256(text.encode()).hexdigest()
        done = self._curl(digest, "--request", "PUT", "--data-raw", text, self._url(key))
        if done.returncode != 0:
            raise Failure(f"writing {self.uri(key)}: {done.stdout or done.stderr}")

    def verify(self, key):
        """Reads every file of outputs and compares checksums, as a user would: with the command line."""
        run([os.environ["ESPALIER_E2E_CLI"], "verify", self.uri(key)], timeout=120)
