"""Signatures with a given ECDSA P-256 key, made and verified by openssl, in the formats that cosign has.

- An image: the Simple Signing payload with its digest, and the base64 signature over the payload's bytes
  (cosign's SIGNATURE_SPEC.md).
- A statement: a DSSE envelope, whose signature covers the payload's type and bytes (secure-systems-lab/dsse, PAE).
- Any file: the base64 signature over its bytes.
"""

import base64
import binascii
import json
import re
import subprocess
import tempfile

from supply_chain.errors import AttestError

PAYLOAD_TYPE = "application/vnd.in-toto+json"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
IMAGE_TYPE = "cosign container image signature"


def _openssl(*arguments, stdin=b""):
    try:
        return subprocess.run(["openssl", *arguments], input=stdin, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise AttestError("openssl: the program was not found; install the package openssl") from error


def _check_curve(key, *kind):
    done = _openssl("pkey", "-in", key, *kind, "-noout", "-text")
    if done.returncode != 0:
        raise AttestError(f"{key}: openssl cannot read the key: {done.stderr.decode().strip()}")
    if b"prime256v1" not in done.stdout:
        raise AttestError(f"{key}: expected an ECDSA key on the curve P-256, as of "
                          "`openssl ecparam -name prime256v1 -genkey -noout`")


def sign(data, key):
    """Returns the base64 signature over `data` with the private key in the PEM file `key`."""
    _check_curve(key)
    done = _openssl("dgst", "-sha256", "-sign", key, stdin=data)
    if done.returncode != 0:
        raise AttestError(f"{key}: openssl could not sign: {done.stderr.decode().strip()}")
    return base64.b64encode(done.stdout).decode()


def verify(data, signature, public_key):
    """Raises AttestError unless `signature`, in base64, is one over `data` by the key in the PEM file `public_key`."""
    _check_curve(public_key, "-pubin")
    try:
        raw = base64.b64decode(signature.strip(), validate=True)
    except binascii.Error as error:
        raise AttestError(f"the signature is not base64: {error}") from error
    with tempfile.NamedTemporaryFile() as file:
        file.write(raw)
        file.flush()
        done = _openssl("dgst", "-sha256", "-verify", public_key, "-signature", file.name, stdin=data)
    if done.returncode != 0:
        raise AttestError(f"the signature was not made by the key of {public_key} over this content")


def image_payload(reference, digest):
    """The bytes that are signed for an image."""
    if not DIGEST.fullmatch(digest):
        raise AttestError(f"digest {digest}: expected sha256: and 64 hexadecimal digits")
    return json.dumps({"critical": {"identity": {"docker-reference": reference},
                                    "image": {"docker-manifest-digest": digest}, "type": IMAGE_TYPE},
                       "optional": None}, separators=(",", ":")).encode()


def digest_in_payload(payload):
    """Returns the digest that a payload of image_payload names."""
    try:
        critical = json.loads(payload)["critical"]
        if critical["type"] == IMAGE_TYPE:
            return critical["image"]["docker-manifest-digest"]
    except (ValueError, KeyError, TypeError):
        pass
    raise AttestError(f"expected a Simple Signing payload of type '{IMAGE_TYPE}'")


def envelope(statement, key):
    """Returns a DSSE envelope, as JSON values, of the bytes of a statement."""
    return {"payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(statement).decode(),
            "signatures": [{"keyid": "", "sig": sign(_pre_authentication(statement), key)}]}


def open_envelope(text, public_key):
    """Verifies a DSSE envelope and returns the statement in it, as JSON values."""
    try:
        value = json.loads(text)
        payload_type, signatures = value["payloadType"], [one["sig"] for one in value["signatures"]]
        payload = base64.b64decode(value["payload"], validate=True)
    except (ValueError, KeyError, TypeError) as error:
        raise AttestError(f"expected a DSSE envelope with payloadType, payload and signatures: {error}") from error
    if payload_type != PAYLOAD_TYPE or len(signatures) != 1:
        raise AttestError(f"expected a DSSE envelope of {PAYLOAD_TYPE} with one signature")
    verify(_pre_authentication(payload), signatures[0], public_key)
    return json.loads(payload)


def _pre_authentication(payload):
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
