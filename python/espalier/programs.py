"""Finds Espalier's programs, in this installation or in ESPALIER_BIN."""

import ctypes
import os
import pathlib
import shutil
import signal

from espalier.errors import NotFound

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def path(name="espalier"):
    """Returns the path of a program: in ESPALIER_BIN if it is set, otherwise beside this package or in PATH. NotFound:
    it is in none of them."""
    folder = os.environ.get("ESPALIER_BIN")
    packaged = pathlib.Path(__file__).parent / "bin" / name
    if folder:
        found = shutil.which(name, path=folder)
    else:
        found = str(packaged) if packaged.exists() else shutil.which(name)
    if found is None:
        raise NotFound(f"there is no program {name!r} in {folder or f'{packaged.parent} or PATH'}; set ESPALIER_BIN to the "
                       "folder of Espalier's programs")
    return found


def end_with_this_thread():
    """Returns a `preexec_fn` with which a child gets SIGTERM if the thread that started it, or this process, ends."""
    prctl, parent = ctypes.CDLL(None, use_errno=True).prctl, os.getpid()

    def in_the_child():
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # this process has already ended
            os._exit(75)

    return in_the_child
