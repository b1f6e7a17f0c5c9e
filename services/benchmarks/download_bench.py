#!/usr/bin/env python3
"""Compares the speed of downloading a partition from an S3 service with that of curl.

The script generates a graph and partitions it into an S3 bucket of a local versitygw. Then two downloads alternate:
`download_bench` downloads the partition into an empty data directory as a graph server does (parallel ranges, verified
on arrival and written to the mapped file), and `curl --parallel` gets the same bytes from the same server in as many
parallel ranges of the same size. Prints both rates and their ratio. Exit code 1 if the ratio of the medians is below
--goal.

Example: download_bench.py --bin build/release/bin --versitygw ~/go/bin/versitygw --mib 1024
"""

import argparse
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

ACCESS_KEY, SECRET_KEY, BUCKET = "bench", "bench-secret", "bench"
RANGE_BYTES = 4 << 20


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def s3_service(program, folder):
    """Runs a versitygw with an empty bucket and yields its endpoint."""
    (folder / "data" / BUCKET).mkdir(parents=True)
    port = free_port()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder),
                   "ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
    command = [program, "--port", f"127.0.0.1:{port}", "--region", "us-east-1", "--keep-alive", "posix",
               str(folder / "data")]
    with open(folder / "versitygw.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("versitygw does not answer: " + (folder / "versitygw.log").read_text())
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def put_partition(arguments, folder, environment):
    """Generates a graph of about --mib, cuts it into one partition in the bucket, and returns the partition's URI."""
    width = 256
    nodes = max(1000, arguments.mib * (1 << 20) // (4 * width))
    espalier = arguments.bin / "espalier"
    subprocess.run([espalier, "generate", "--nodes", str(nodes), "--edges", str(4 * nodes), "--features", str(width),
                    "--quiet", "--output", folder / "graph"], check=True, env=environment)
    report = subprocess.run([espalier, "partition", folder / "graph", "--format", "NPY", "--count", "1",
                             "--algorithm", "Random", "--quiet", "--json", "--output", f"s3://{BUCKET}/partitions"],
                            check=True, env=environment, stdout=subprocess.PIPE, text=True)
    shutil.rmtree(folder / "graph")
    return json.loads(report.stdout)["uri"]


def time_download(arguments, folder, environment, uri):
    data_dir = folder / "copies"
    result = subprocess.run([arguments.bin / "download_bench", uri, "--data-dir", data_dir,
                             "--parallel", str(arguments.parallel)],
                            check=True, env=environment, stdout=subprocess.PIPE, text=True)
    shutil.rmtree(data_dir)
    return json.loads(result.stdout)


def presigned(url):
    """Returns the URL with a signature in its query (AWS Signature Version 4), so that curl need not sign requests."""
    parts = urllib.parse.urlsplit(url)
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = f"{now[:8]}/us-east-1/s3/aws4_request"
    query = urllib.parse.urlencode({"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": f"{ACCESS_KEY}/{scope}",
                                    "X-Amz-Date": now, "X-Amz-Expires": "86400", "X-Amz-SignedHeaders": "host"})
    request = f"GET\n{parts.path}\n{query}\nhost:{parts.netloc}\n\nhost\nUNSIGNED-PAYLOAD"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = ("AWS4" + SECRET_KEY).encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return f"{url}?{query}&X-Amz-Signature={hmac.digest(key, text.encode(), 'sha256').hex()}"


def curl_config(folder, endpoint, uri, files):
    """Returns the text of a config file for curl: one transfer per range, each into its own file."""
    lines = []
    for file in files:
        url = presigned(endpoint + "/" + uri.removeprefix("s3://") + "/" + file["key"])
        for begin in range(0, file["bytes"], RANGE_BYTES):
            end = min(file["bytes"], begin + RANGE_BYTES) - 1
            lines += [f'url = "{url}"', f'range = "{begin}-{end}"', f'output = "{folder}/{len(lines)}"',
                      "silent", "fail", "next"]
    return "\n".join(lines[:-1]) + "\n"


def time_curl(arguments, folder, endpoint, uri, files):
    target = folder / "curl"
    target.mkdir()
    config = folder / "curl.config"
    config.write_text(curl_config(target, endpoint, uri, files), encoding="utf-8")
    begin = time.perf_counter()
    subprocess.run(["curl", "--noproxy", "*", "--no-progress-meter", "--parallel", "--parallel-immediate",
                    "--parallel-max", str(arguments.parallel), "--config", config], check=True)
    seconds = time.perf_counter() - begin
    got = sum(entry.stat().st_size for entry in target.iterdir())
    expected = sum(file["bytes"] for file in files)
    if got != expected:
        sys.exit(f"curl got {got} bytes, expected {expected}")
    shutil.rmtree(target)
    return seconds


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder with espalier and download_bench")
    parser.add_argument("--versitygw", default=os.environ.get("ESPALIER_VERSITYGW"),
                        help="path of versitygw; default: $ESPALIER_VERSITYGW")
    parser.add_argument("--mib", type=int, default=512, help="approximate size of the partition in MiB")
    parser.add_argument("--parallel", type=int, default=8, help="parallel requests of each download")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, help="folder of all files, including the service's; default: temporary")
    parser.add_argument("--goal", type=float, default=0.80)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not arguments.versitygw:
        sys.exit("the path of versitygw is missing: set --versitygw or ESPALIER_VERSITYGW")
    with tempfile.TemporaryDirectory(prefix="espalier-download-", dir=arguments.folder) as name:
        folder = pathlib.Path(name)
        with s3_service(arguments.versitygw, folder) as endpoint:
            environment = {"PATH": os.environ["PATH"], "HOME": name, "AWS_ENDPOINT_URL_S3": endpoint,
                           "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
                           "AWS_REGION": "us-east-1"}
            uri = put_partition(arguments, folder, environment)
            files = time_download(arguments, folder, environment, uri)["files"]  # also warms the server up
            ours, curls, loads = [], [], []
            for _ in range(arguments.repetitions):
                measured = time_download(arguments, folder, environment, uri)
                ours.append(measured["downloadSeconds"])
                loads.append(measured["loadSeconds"])
                curls.append(time_curl(arguments, folder, endpoint, uri, files))
    mib = sum(file["bytes"] for file in files) / (1 << 20)
    our_seconds, curl_seconds = statistics.median(ours), statistics.median(curls)
    ratio = curl_seconds / our_seconds
    print(f"{mib:.0f} MiB, {arguments.parallel} requests at once, median of {arguments.repetitions}")
    print(f"  espalier  {mib / our_seconds:8.0f} MiB/s  ({our_seconds:.3f} s, verified; then mapped and checked in "
          f"{statistics.median(loads):.3f} s)")
    print(f"  curl      {mib / curl_seconds:8.0f} MiB/s  ({curl_seconds:.3f} s)")
    print(f"  ratio     {ratio:8.2f}  (goal {arguments.goal:.2f})")
    return 0 if ratio >= arguments.goal else 1


if __name__ == "__main__":
    sys.exit(main())
