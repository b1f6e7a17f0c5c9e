"""`python -m espalier run ...`, and the command `espalier` that pip installs: the program of that name."""

import os
import sys

from espalier import programs


def main():
    program = programs.path()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
