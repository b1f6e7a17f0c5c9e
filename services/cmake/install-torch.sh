# Sourced by quickstart.sh, test.sh and images/Dockerfile, in the folder of the sources: puts what Espalier needs of the
# wheels of torch-wheels.txt into build/torch, laid out as in a Python's site-packages. Needs python3-venv
# (install-packages.sh). With ESPALIER_TORCH=FOLDER nothing is downloaded: a folder laid out the same way, such as the
# site-packages of a Python that has torch 2.11.0, or one that the wheels were unpacked into.

install_torch() {
  local pins=services/cmake/torch-wheels.txt made_from
  if [ -n "${ESPALIER_TORCH:-}" ]; then
    check_torch "$ESPALIER_TORCH"
    return
  fi
  # The wheels, and what is taken of them.
  made_from="$(cat "$pins" "${BASH_SOURCE[0]}" | sha256sum)"
  if [ "$(cat build/torch/made-from 2>/dev/null)" = "$made_from" ]; then return 0; fi
  echo "== downloading torch (530 MB, unless pip has it in its cache)"
  mkdir -p build
  (
    staging="$(mktemp -d build/torch-XXXXXX)" || exit 74
    trap 'rm -rf "$staging"' EXIT
    download_torch "$pins" "$staging" || exit
    echo "$made_from" >"$staging/torch/made-from" && rm -rf build/torch && mv "$staging/torch" build/torch
  )
}

# FOLDER: says what it lacks.
check_torch() {
  if [ -e "$1/torch/include/torch/csrc/api/include/torch/version.h" ] && [ -e "$1/torch/lib/libtorch_cpu.so" ] &&
    [ -e "$1/torch/lib/libgomp.so.1" ]; then
    return 0
  fi
  echo "ESPALIER_TORCH=$1: expected torch/include and torch/lib/libtorch_cpu.so below it, as in the site-packages of a" \
    "Python that has torch" >&2
  return 66
}

# PINS STAGING: the files that are needed into STAGING/torch.
download_torch() {
  python3 -m venv "$2/venv" || return 74
  # The same wheels whatever Python this machine has.
  if ! "$2/venv/bin/pip" --disable-pip-version-check download --quiet --no-deps --require-hashes --dest "$2/wheels" \
    --only-binary :all: --implementation cp --python-version 3.11 --abi cp311 --platform manylinux_2_28_x86_64 \
    --platform manylinux_2_25_x86_64 --platform manylinux2014_x86_64 --platform manylinux1_x86_64 --requirement "$1"; then
    echo "pip could not download the wheels of $1 (its message is above): the network, a proxy, or the package index" \
      "(PIP_INDEX_URL)." \
      "ESPALIER_TORCH=FOLDER takes an unpacked torch." >&2
    return 74
  fi
  python3 - "$2/wheels" "$2/torch" <<'PYTHON'
import pathlib
import re
import sys
import zipfile

# Headers, the libraries that are loaded, licences.
NEEDED = re.compile(r"torch/include/(ATen|c10|caffe2/serialize|torch)/.*"
                    r"|torch/lib/lib(torch_cpu\.so|c10\.so|gomp\.so\.1)"
                    r"|nvidia/cu13/lib/lib(cudart|cupti)\.so\.13"
                    r"|[^/]*\.dist-info/(licenses/)?(LICENSE|NOTICE|License)(\.txt)?")
for wheel in pathlib.Path(sys.argv[1]).glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(sys.argv[2], [name for name in archive.namelist() if NEEDED.fullmatch(name)])
PYTHON
}
