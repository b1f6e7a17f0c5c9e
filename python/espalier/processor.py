"""Checks whether this processor can run the extension module, which would otherwise end Python with SIGILL."""

_NEEDED = {"avx2", "bmi2", "fma"}  # flags that identify a processor with x86-64-v3


def check(cpuinfo="/proc/cpuinfo"):
    """Raises ImportError if the processor lacks instructions for which Espalier is compiled."""
    try:
        with open(cpuinfo, encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), None)
    except OSError:  # without /proc the flags are unknown
        return
    missing = _NEEDED - set(flags.split()) if flags else ()
    if missing:
        raise ImportError(f"Espalier is compiled for processors with AVX2 (x86-64-v3), and this one lacks "
                          f"{', '.join(sorted(missing))}; a virtual machine shows them with the CPU model of its host")


check()
