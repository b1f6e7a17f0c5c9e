#!/usr/bin/env bash
# Installs what is missing (Debian 12, root or sudo), builds, and runs every test: all of them on the release
# build, the unit tests again under the address and undefined-behaviour sanitizers.
#   ./test.sh [--release-only | --with-tsan]      --with-tsan: under the thread sanitizer too
# ESPALIER_TEST_DATA=FOLDER adds the tests on more real graphs (amazon-photo, kg) that lie there.
set -euo pipefail
cd "$(dirname "$0")"
source services/cmake/install-packages.sh
source services/cmake/install-test-tools.sh

presets=(release asan)
case "${1:-}" in
  '') ;;
  --release-only) presets=(release) ;;
  --with-tsan) presets+=(tsan) ;;
  *) echo "usage: ./test.sh [--release-only | --with-tsan]" >&2; exit 64 ;;
esac

install_packages
install_versitygw
install_kube_tools

# Tests open our files with Python's numpy, safetensors and TensorBoard's reader (Debian lacks the last two).
if ! build/python/bin/python -c 'import safetensors, numpy, tensorboard' 2>/dev/null; then
  echo "== preparing build/python"
  python3 -m venv build/python
  build/python/bin/pip install --quiet 'numpy==1.26.4' 'safetensors==0.4.5' 'tensorboard==2.18.0'
fi

export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1}"
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/services/cmake/lsan.supp:print_suppressions=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-suppressions=$PWD/services/cmake/tsan.supp halt_on_error=1}"

mkdir -p build
for preset in "${presets[@]}"; do
  echo "== $preset: build"
  cmake --preset "$preset" -DESPALIER_PYTHON="$PWD/build/python/bin/python" \
    -DESPALIER_VERSITYGW="$VERSITYGW" -DESPALIER_KUBE_TOOLS="$KUBE_TOOLS" >"build/$preset-configure.log" 2>&1 ||
    { cat "build/$preset-configure.log"; exit 1; }
  cmake --build --preset "$preset"
done
for preset in "${presets[@]}"; do
  echo "== $preset: test"
  ctest --preset "$preset" -j "$(nproc)"
done
