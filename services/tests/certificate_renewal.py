"""Replaces the certificates of a run with TLS while it trains, from an authority of the test.

    with Renewal(output, every_seconds=5, scratch=folder) as renewal:
        ...                       # the run
    renewal.rounds, renewal.problem
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import threading

ROLES = ("server", "sampler", "trainer")
# Every process reads its files once per second. After more than two seconds, all of them trust both authorities.
BEFORE_FIRST_LEAF_SECONDS = 2.5
RENAME_EXCHANGE = 2
AT_FDCWD = -100


def openssl(*args):
    return subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, text=True, timeout=60).stdout


def uri_of(certificate):
    """Returns the identity in a certificate: spiffe://espalier/<namespace>/<job uid>/<role>."""
    text = openssl("x509", "-in", certificate, "-noout", "-ext", "subjectAltName")
    return next(part for part in text.replace(",", " ").split() if part.startswith("URI:")).removeprefix("URI:")


def exchange(first, second):
    """Swaps two folders atomically, so that no process reads a key without its certificate."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), str(first), None, str(second))


class Authority:
    """A certificate authority, made with the openssl command."""

    def __init__(self, folder):
        self.key, self.certificate = folder / "ca.key", folder / "ca.crt"
        folder.mkdir(parents=True)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=second authority", "-keyout", self.key, "-out", self.certificate)

    def issue(self, uri, folder):
        """Writes tls.crt and tls.key of a process with this identity."""
        folder.mkdir(mode=0o700)
        request, extensions = folder / "request", folder / "extensions"
        extensions.write_text(f"basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
                              f"extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=URI:{uri}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=process",
                "-keyout", folder / "tls.key", "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days",
                "1", "-extfile", extensions, "-out", folder / "tls.crt")


class Renewal:
    """A thread that first adds an authority to those that the run's processes trust. Then it gives every role a new key
    and certificate every `every_seconds`. It ends with the `with` block. `scratch`: a new folder on the run's file
    system."""

    def __init__(self, output, every_seconds, scratch):
        self.tls = pathlib.Path(output) / "run/tls"
        self.ready = pathlib.Path(output) / "run/server-0.json"  # of the first process that has read its certificates
        self.every_seconds = every_seconds
        self.scratch = pathlib.Path(scratch)
        self.rounds = 0
        self.problem = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _run(self):
        try:
            self._renew()
        except (OSError, subprocess.SubprocessError, StopIteration) as error:
            if not self._is_taken_away():
                self.problem = f"certificates not renewed: {error} {getattr(error, 'stderr', '')}"

    def _is_taken_away(self):
        """Returns whether the run is ending, that is, whether it is removing its files."""
        files = [self.tls / "ca.crt", *(self.tls / role / name for role in ROLES for name in ("tls.crt", "tls.key"))]
        return not all(file.exists() for file in files)

    def _renew(self):
        while not self.ready.exists():
            if self._stop.wait(0.02):
                return
        authority = Authority(self.scratch)
        uris = {role: uri_of(self.tls / role / "tls.crt") for role in ROLES}
        # Created outside the run's folder, which the run may remove at any moment.
        both = self.scratch / "ca.both"
        both.write_text((self.tls / "ca.crt").read_text() + authority.certificate.read_text())
        both.rename(self.tls / "ca.crt")
        pause = BEFORE_FIRST_LEAF_SECONDS
        while not self._stop.wait(pause):
            for role, uri in uris.items():
                fresh = self.scratch / role
                authority.issue(uri, fresh)
                exchange(fresh, self.tls / role)
                shutil.rmtree(fresh)  # now the folder with the old key and certificate
            self.rounds += 1
            pause = self.every_seconds
