"""Certificates of a user's own authority (tls.mode SecretRef), with a given lifetime."""

import datetime
import pathlib
import tempfile

from runner.commands import run

NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
# `openssl ca` instead of `openssl x509`, which cannot set the second at which a certificate expires.
AUTHORITY = """
[ca]
default_ca = scenario
[scenario]
database = {folder}/index.txt
new_certs_dir = {folder}
certificate = {folder}/ca.crt
private_key = {folder}/ca.key
default_md = sha256
policy = any_name
unique_subject = no
rand_serial = yes
[any_name]
commonName = supplied
"""
EXTENSIONS = """
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth,clientAuth
subjectAltName = URI:spiffe://espalier/{namespace}/{uid}/{role}
"""


def make(namespace, uid, roles, lifetime):
    """Returns the Secret's content for a job: ca.crt, and ROLE.crt and ROLE.key of each role. `lifetime`: a timedelta."""
    end = datetime.datetime.now(datetime.timezone.utc) + lifetime
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-authority-") as name:
        folder = pathlib.Path(name)
        (folder / "authority").write_text(AUTHORITY.format(folder=folder))
        (folder / "index.txt").touch()
        run(["openssl", "req", "-x509", *NEW_KEY, "-days", "1", "-subj", "/CN=authority of the scenario",
             "-keyout", folder / "ca.key", "-out", folder / "ca.crt"])
        for role in roles:
            (folder / "extensions").write_text(EXTENSIONS.format(namespace=namespace, uid=uid, role=role))
            run(["openssl", "req", *NEW_KEY, "-subj", f"/CN={role}", "-keyout", folder / f"{role}.key",
                 "-out", folder / "request"])
            run(["openssl", "ca", "-config", folder / "authority", "-batch", "-notext", "-in", folder / "request",
                 "-out", folder / f"{role}.crt", "-extfile", folder / "extensions",
                 "-enddate", end.strftime("%Y%m%d%H%M%SZ")])
        names = ["ca.crt", *(f"{role}.{kind}" for role in roles for kind in ("crt", "key"))]
        return {name: (folder / name).read_text() for name in names}
