"""Exceptions: one for each status code of the library, with the library's message.

Each is also a subclass of the built-in exception for errors of its kind.
"""

from espalier import _core


class EspalierError(Exception):
    """An error of the library."""

    code = "UNKNOWN"  # name of the status code, as in gRPC
    _exit_code = None  # of the process that ended with this error, if any

    @property
    def exit_code(self) -> int:
        """The exit code of a process that ends with this error."""
        return _core.exit_code(self.code) if self._exit_code is None else self._exit_code


class InvalidArgument(EspalierError, ValueError):
    code = "INVALID_ARGUMENT"


class NotFound(EspalierError, LookupError):
    code = "NOT_FOUND"


class AlreadyExists(EspalierError, ValueError):
    code = "ALREADY_EXISTS"


class OutOfRange(EspalierError, IndexError):
    code = "OUT_OF_RANGE"


class FailedPrecondition(EspalierError, RuntimeError):
    code = "FAILED_PRECONDITION"


class DataLoss(EspalierError, OSError):
    code = "DATA_LOSS"


class Unimplemented(EspalierError, NotImplementedError):
    code = "UNIMPLEMENTED"


class PermissionDenied(EspalierError, PermissionError):
    code = "PERMISSION_DENIED"


class Unauthenticated(EspalierError, PermissionError):
    code = "UNAUTHENTICATED"


class Unavailable(EspalierError, ConnectionError):
    code = "UNAVAILABLE"


class DeadlineExceeded(EspalierError, TimeoutError):
    code = "DEADLINE_EXCEEDED"


class ResourceExhausted(EspalierError, MemoryError):
    code = "RESOURCE_EXHAUSTED"


class Aborted(EspalierError, RuntimeError):
    code = "ABORTED"


class Cancelled(EspalierError, RuntimeError):
    code = "CANCELLED"


class Internal(EspalierError, RuntimeError):
    code = "INTERNAL"


_BY_CODE = {error.code: error for error in EspalierError.__subclasses__()}


def from_code(code, message):
    """Returns the exception for a status code."""
    return _BY_CODE.get(code, EspalierError)(message)


# Exceptions by exit code of a program (docs/exit-codes.md).
_BY_EXIT_CODE = {64: InvalidArgument, 65: InvalidArgument, 74: Unavailable, 75: Cancelled, 77: PermissionDenied}


def from_exit_code(exit_code, message):
    """Returns the exception for a program that ended with an error. Its `exit_code` is that of the program."""
    error = _BY_EXIT_CODE.get(exit_code, Internal)(message)
    error._exit_code = exit_code
    return error
