#!/usr/bin/env bash
# Installs what is missing (Debian 12, root or sudo), builds, and runs the tests: unit tests under the address and
# undefined-behavior sanitizers, and on the release build the scenarios and those unit tests whose code is optimized
# further there (IN_RELEASE, services/cmake/EspalierTargets.cmake) or needs libtorch, which the sanitizers' builds lack.
#   ./test.sh [--release-only | --with-tsan] [--with-kubernetes | --with-e2e]
#     --release-only: no sanitizer, and all unit tests on the release build
#     --with-tsan: under the thread sanitizer too
#     --with-kubernetes: what runs against Kubernetes' own programs and helm too (e2e/tools builds them: minutes): the
#       operator, kubectl-espalier and the chart on a real API server, its nodes pretended
#     --with-e2e: all of that, and the scenarios of level ci on a real cluster (e2e/README.md); takes root. Exit status 69
#       where this machine cannot host one (e2e/cluster check)
# ESPALIER_TEST_DATA=FOLDER adds the tests on more real graphs (amazon-photo, kg) that lie there. Some tests are left out where
# they passed before with the same inputs (e2e/tools/passed_before.py); ESPALIER_RUN_ALL=1 runs them too. Exit status 74 if a
# disk has too little free space (services/cmake/check-disk-space.sh).
set -euo pipefail
cd "$(dirname "$0")"
source services/cmake/check-disk-space.sh
source services/cmake/install-packages.sh
source services/cmake/install-torch.sh
source services/cmake/install-test-tools.sh

presets=(asan release)  # the release build's tests close the log
unit_tests_of_release=IN_RELEASE
with_kubernetes=""
e2e_cluster=""
for option in "$@"; do
  case "$option" in
    --release-only) presets=(release) unit_tests_of_release=ALL ;;
    --with-tsan) presets=(asan tsan release) ;;
    --with-kubernetes) with_kubernetes=yes ;;
    --with-e2e) with_kubernetes=yes e2e_cluster="ci-$(md5sum <<<"$PWD" | cut -c1-8)" ;;  # no other checkout's
    *) echo "usage: ./test.sh [--release-only | --with-tsan] [--with-kubernetes | --with-e2e]" >&2; exit 64 ;;
  esac
done

disk_gib_temporary="$DISK_GIB_TESTS"
if [ -n "$e2e_cluster" ]; then disk_gib_temporary=$((disk_gib_temporary + DISK_GIB_CLUSTER)); fi
written_folders=("${TMPDIR:-/tmp}" "$disk_gib_temporary" "TMPDIR=FOLDER"
  "${ESPALIER_TOOLS:-${HOME:-/root}/.cache/espalier/tools}" "$DISK_GIB_TOOLS" "ESPALIER_TOOLS=FOLDER")
for preset in "${presets[@]}"; do
  if [ "$preset" = release ]; then gib="$DISK_GIB_RELEASE"; else gib="$DISK_GIB_SANITIZER"; fi
  written_folders+=("$PWD/build/$preset" "$gib" "a checkout there")
done
check_disk_space "${written_folders[@]}"
install_packages
install_torch
# Downloaded while the processors compile: only the release build needs it.
e2e/tools/build.sh torch-python >/dev/null &
torch_python_download=$!
TORCH_PYTHON=""
if [ -n "$e2e_cluster" ]; then
  e2e/cluster check || exit 69
fi
install_ssh_packages
install_versitygw
install_s3proxy
install_prometheus
KUBE_TOOLS="" HELM_TOOLS=""
if [ -n "$with_kubernetes" ]; then
  install_kube_tools
  install_helm
else
  echo "== without --with-kubernetes: leaving out the tests on a real API server, and those of the chart that take helm"
fi
if [ -n "$e2e_cluster" ]; then
  if [ -z "$KUBE_TOOLS" ] || [ -z "$HELM_TOOLS" ] || [ -z "$PROMETHEUS_TOOLS" ]; then
    echo "--with-e2e: the cluster needs programs that e2e/tools/build.sh could not build (see above)" >&2
    exit 69
  fi
  install_cluster_packages
fi

# Tests open our files with Python's numpy, safetensors and TensorBoard's reader (Debian lacks the last two), and look at
# the sources with the clang-format that they were formatted with, and with the clang-tidy of the same release. The Python
# package is compiled with nanobind, and packed into wheels.
if ! build/python/bin/python -c 'import safetensors, numpy, tensorboard, clang_format, clang_tidy, nanobind, nanobind_backend
import abi3audit, auditwheel, scikit_build_core, wheel' 2>/dev/null; then
  echo "== preparing build/python"
  python3 -m venv build/python
  build/python/bin/pip install --quiet 'numpy==1.26.4' 'safetensors==0.4.5' 'tensorboard==2.18.0' \
    'clang-format==14.0.6' 'clang-tidy==14.0.6' "$(grep -o 'nanobind==[0-9.]*' python/pyproject.toml)" \
    'nanobind-backend==1.0.0' --requirement python/wheel-tools.txt
fi

export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1}"
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/services/cmake/lsan.supp:print_suppressions=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

mkdir -p build
for preset in "${presets[@]}"; do
  echo "== $preset: build"
  python_module=OFF
  if [ "$preset" = release ]; then
    python_module=ON
    wait "$torch_python_download" || true  # tried again here, and reported
    install_torch_python
  fi
  cmake --preset "$preset" -DESPALIER_TORCH="${ESPALIER_TORCH:-}" -DESPALIER_PYTHON="$PWD/build/python/bin/python" \
    -DESPALIER_VERSITYGW="$VERSITYGW" -DESPALIER_S3PROXY="$S3PROXY" -DESPALIER_KUBE_TOOLS="$KUBE_TOOLS" \
    -DESPALIER_HELM="$HELM_TOOLS" -DESPALIER_PROMETHEUS="$PROMETHEUS_TOOLS" -DESPALIER_E2E_CLUSTER="$e2e_cluster" \
    -DESPALIER_UNIT_TESTS="$unit_tests_of_release" -DESPALIER_PYTHON_MODULE="$python_module" \
    -DESPALIER_TORCH_PYTHON="$TORCH_PYTHON" \
    >"build/$preset-configure.log" 2>&1 ||
    { cat "build/$preset-configure.log"; exit 1; }
  cmake --build --preset "$preset"
done
# ctest takes the cluster down itself, and its lines are the last ones: nothing is left to do unless it was interrupted.
ctest_runs=""
end_interrupted_cluster() {
  local status=$?
  if [ -n "$ctest_runs" ] && [ -n "$e2e_cluster" ]; then e2e/cluster down --name "$e2e_cluster" || true; fi
  exit "$status"
}
trap end_interrupted_cluster EXIT

# FOLDER of a build: the last lines of what each failed test printed, and their names.
show_failures() {
  local temporary="$1/Testing/Temporary" failed
  failed="$(cut -d: -f2- "$temporary/LastTestsFailed.log" 2>/dev/null)" || return 0
  for name in $failed; do
    echo "== the end of $name:"
    awk -v "first=\"$name\" start time:" '
      index($0, first) == 1 { found = 1 }
      found && !shown && /^-+$/ { shown = 1; next }
      shown && $0 == "<end of output>" { exit }
      shown { lines[++count] = $0 }
      END { for (i = count > 12 ? count - 11 : 1; i <= count; ++i) print lines[i] }' "$temporary/LastTest.log"
  done
  echo "$(wc -w <<<"$failed") tests FAILED: $(tr '\n' ' ' <<<"$failed")"
}

if [ -z "${ESPALIER_TEST_DATA:-}" ]; then
  echo "== ESPALIER_TEST_DATA is not set: leaving out the tests on more real graphs"
fi
for preset in "${presets[@]}"; do
  echo "== $preset: test"
  left_out="$(python3 -B e2e/tools/passed_before.py check "build/$preset")"
  ctest_runs=yes
  status=0
  rm -f "build/$preset/Testing/Temporary/LastTestsFailed.log"  # of an earlier run
  # Half of the time they wait.
  ctest --preset "$preset" -j "$((2 * $(nproc)))" ${left_out:+--exclude-regex "$left_out"} || status=$?
  if [ "$status" -lt 128 ]; then ctest_runs=""; fi  # it ended by itself, not by a signal
  if [ "$status" -ne 0 ]; then
    show_failures "build/$preset" || true
    exit "$status"
  fi
  python3 -B e2e/tools/passed_before.py record "build/$preset"
done
