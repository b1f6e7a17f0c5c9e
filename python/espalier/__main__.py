"""`python -m espalier run ...`, and the command `espalier` that pip installs: the program of that name.

`python -m espalier train.py ...` runs a Python script (docs/python.md, errors and exit codes).
"""

import os
import sys

from espalier import ends, programs


def main():
    if len(sys.argv) > 1 and sys.argv[1].endswith(".py"):
        ends.run_script(sys.argv[1], sys.argv[2:])
        return
    program = programs.path()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
