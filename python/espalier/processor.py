"""Whether this processor can run the extension module, which would end Python by SIGILL otherwise."""

_NEEDED = {"avx2", "bmi2", "fma"}  # what tells a processor of x86-64-v3


def check(cpuinfo="/proc/cpuinfo"):
    """ImportError: the processor lacks instructions that Espalier is compiled with."""
    try:
        with open(cpuinfo, encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), None)
    except OSError:  # no /proc: nothing is known
        return
    missing = _NEEDED - set(flags.split()) if flags else ()
    if missing:
        raise ImportError(f"Espalier is compiled for processors with AVX2 (x86-64-v3), and this one lacks "
                          f"{', '.join(sorted(missing))}; a virtual machine shows them with the CPU model of its host")


check()
