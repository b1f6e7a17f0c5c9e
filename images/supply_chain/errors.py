"""The one exception that images/attest reports as a message."""


class AttestError(Exception):
    """The input cannot be described, signed or verified; the text says why and what to do."""
