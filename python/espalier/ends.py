"""Ends a program after an uncaught exception with an exit code of docs/exit-codes.md and a termination message.
`espalier run`, `espalier launch` and the operator decide by the code whether to restart the ranks, and show the
message."""

import os
import runpy
import signal
import sys
import traceback

from espalier import _core
from espalier.errors import EspalierError, Internal, ResourceExhausted, Unimplemented

_ASKED_TO_STOP = 75
# Exit codes of other exceptions in the ranks of a job. A script that cannot be loaded is not retried, because it would
# fail again.
_OF_OTHERS = ((SyntaxError, Unimplemented("")), (ImportError, Unimplemented("")), (MemoryError, ResourceExhausted("")),
              (Exception, Internal("")))


def exit_code_of(error):
    """Returns the exit code of a program that ends with `error`; None: Python's own exit code."""
    if isinstance(error, EspalierError):
        return error.exit_code
    if not os.environ.get("ESPALIER_RANK"):
        return None
    return next((like.exit_code for kind, like in _OF_OTHERS if isinstance(error, kind)), None)


def _message_of(error):
    """Returns the message: `error`, and the innermost line of the traceback in the main script or a file beside it."""
    words = "".join(traceback.format_exception_only(error)).strip()
    folder = os.path.dirname(os.path.abspath(sys.argv[0]))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if os.path.dirname(os.path.abspath(frame.filename)) == folder]
    return f"{words} ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else words


def _install_hook():
    previous = sys.excepthook

    def hook(kind, error, trace):
        previous(kind, error, trace)
        code = None if hasattr(sys, "ps1") or sys.flags.interactive else exit_code_of(error)
        if code is None:
            return
        _core.write_termination(code, _message_of(error))
        # torch.distributed wraps this hook and collects its output, but SystemExit would keep it from printing the
        # output.
        collected = getattr(sys.stderr, "getvalue", None)
        if collected is not None and sys.__stderr__ is not None:
            sys.__stderr__.write(collected())
            sys.__stderr__.flush()
        raise SystemExit(code)  # the interpreter exits with the code of a hook's SystemExit

    sys.excepthook = hook


def asked_to_stop():
    """Ends the program with the exit code for a requested stop. The program is restarted, and the exit does not count
    as a failure."""
    # The ranks stop together when one of them has received SIGTERM. The SIGTERM of another rank may arrive while its
    # interpreter exits.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _core.write_termination(_ASKED_TO_STOP, "asked to stop")
    raise SystemExit(_ASKED_TO_STOP)


def run_script(path, arguments):
    """Runs a Python script as the main program, so that errors before its `import espalier` also end with these exit
    codes."""
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    runpy.run_path(path, run_name="__main__")


_install_hook()
