"""OCI archives, charts and keys for tests."""

import hashlib
import io
import json
import subprocess
import tarfile

LAYER = "application/vnd.oci.image.layer.v1.tar"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def tar_of(files, mode="w", kinds=None):
    """Bytes of a tar; `files`: {path: bytes}; `kinds`: {path: (tarfile type, link target)}."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for path, data in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mtime = len(data), 1_700_000_000
            tar.addfile(member, io.BytesIO(data))
        for path, (kind, target) in (kinds or {}).items():
            member = tarfile.TarInfo(path)
            member.type, member.linkname = kind, target
            tar.addfile(member)
    return buffer.getvalue()


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class ArchiveMaker:
    """An OCI archive of the given layers: (media type, bytes) each."""

    def __init__(self, layers, labels, created="2026-11-02T03:04:05.678Z"):
        self.blobs = {}
        config = {"created": created, "os": "linux", "architecture": "amd64", "config": {
            "Labels": {f"org.opencontainers.image.{name}": value for name, value in labels.items()}}}
        self.manifest = self.descriptor(MANIFEST, json.dumps({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": self.descriptor("application/vnd.oci.image.config.v1+json", json.dumps(config).encode()),
            "layers": [self.descriptor(kind, data) for kind, data in layers]}).encode())
        self.index = {"schemaVersion": 2, "manifests": [self.manifest]}

    def descriptor(self, kind, data):
        digest = digest_of(data)
        self.blobs["blobs/sha256/" + digest.removeprefix("sha256:")] = data
        return {"mediaType": kind, "digest": digest, "size": len(data)}

    def write(self, path):
        files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps(self.index).encode()}
        path.write_bytes(tar_of(files | self.blobs))
        return path


def make_key(folder, name="key", curve="prime256v1"):
    """Writes a throw-away private and public key; returns their paths."""
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    subprocess.run(["openssl", "ecparam", "-name", curve, "-genkey", "-noout", "-out", private], check=True,
                   capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    return private, public
