"""Espalier's programs: of this installation, or of ESPALIER_BIN."""

import os
import pathlib
import shutil

from espalier.errors import NotFound


def path(name="espalier"):
    """Returns the path of a program: in ESPALIER_BIN if it is set, else beside this package, else in PATH. NotFound: it
    is in none of them."""
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
