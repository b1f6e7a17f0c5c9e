"""Runs versitygw, an S3 service over a folder, with curl as its client. `within` is a command prefix that runs both in
another network namespace."""

import hashlib
import os
import subprocess
import time

REGION = "eu-north-1"
USER = "espalier"


def keys(secret):
    """Returns the environment of the clients."""
    return {"AWS_ACCESS_KEY_ID": USER, "AWS_SECRET_ACCESS_KEY": secret}


def start(scenario, folder, address, secret, within=()):
    """Starts the service and returns its process when it responds. Each folder in `folder` is a bucket. The process
    ends with the test."""
    gateway = subprocess.Popen(
        [*within, os.environ["ESPALIER_VERSITYGW"], "--port", address, "--region", REGION, "posix", str(folder)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "ROOT_ACCESS_KEY": USER, "ROOT_SECRET_KEY": secret})
    scenario.addCleanup(gateway.wait)
    scenario.addCleanup(gateway.kill)
    deadline = time.monotonic() + 30
    while curl(within, secret, f"http://{address}").returncode != 0:
        scenario.assertIsNone(gateway.poll(), "versitygw has ended")
        scenario.assertLess(time.monotonic(), deadline, "versitygw does not answer")
        time.sleep(0.05)
    return gateway


def curl(within, secret, *arguments):
    return subprocess.run([*within, "curl", "--silent", "--show-error", "--config", "-", *arguments], text=True,
                          input=f'aws-sigv4 = "aws:amz:{REGION}:s3"\nuser = "{USER}:{secret}"\n', timeout=60,
                          capture_output=True, check=False)


def upload(path, url, secret, within=()):
    """Uploads an object through the S3 API, so that it has an ETag."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    done = curl(within, secret, "--fail", "--upload-file", str(path), "--header", f"x-amz-content-sha256: {digest}", url)
    if done.returncode != 0:
        raise AssertionError(f"{url}: {done.stderr}")
