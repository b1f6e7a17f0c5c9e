"""The programs that images/cross has compiled for arm64, run under QEMU (qemu-user). ESPALIER_ARM64 is the folder of images/cross,
ESPALIER_BINARIES the folder with this machine's programs."""

import os
import pathlib
import shutil
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
CROSS = pathlib.Path(os.environ.get("ESPALIER_ARM64", SOURCE / "build/arm64"))
ROOTFS = CROSS / "rootfs"
HERE = pathlib.Path(os.environ.get("ESPALIER_BINARIES", SOURCE / "build/release/bin"))
QEMU = next(filter(None, map(shutil.which, ("qemu-aarch64-static", "qemu-aarch64"))), None)


def needs(*files):
    """Returns a decorator that skips a test where one of these files is missing, or QEMU is not installed."""
    absent = next((path for path in files if not path.exists()), None)
    if absent is not None:
        maker = "images/cross arm64" if absent.is_relative_to(CROSS) else "the build"
        return unittest.skip(f"{maker} has not made {absent}")
    return unittest.skipUnless(QEMU, "qemu-user is not installed")


def under_qemu(root, program):
    """Returns the first words of a command that runs a program with the libraries in `root`."""
    return [QEMU, "-L", root, program]


def copy_root_of_image(root):
    """Makes the folder `root` with the files that the image for arm64 adds to its base, and the C library of the base. All other
    libraries of the sysroot stay out, so a program starts only if images/cross has collected what it loads."""
    shutil.copytree(ROOTFS, root, symlinks=True)
    sysroot = CROSS / "sysroot"
    for path in (sysroot / "var/lib/dpkg/info/libc6:arm64.list").read_text().splitlines():
        file = sysroot / path[1:]
        if "/lib/" in path and file.is_file():
            # In Debian 12 /lib is a link to usr/lib.
            target = root / "usr" / path.removeprefix("/usr/").removeprefix("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    if not (root / "lib").exists():
        (root / "lib").symlink_to("usr/lib")
