# Sourced by test.sh: programs that tests run against and Debian does not have. e2e/tools builds them once into a cache
# folder; where it cannot, the tests that need them are left out, loudly.

# Sets VERSITYGW to the program (an S3 service over a folder), or to nothing.
install_versitygw() {
  local folder
  if folder="$(e2e/tools/build.sh s3)"; then
    VERSITYGW="$folder/versitygw"
  else
    VERSITYGW=""
    echo "!! NOT TESTED against a real S3 service" >&2
  fi
}

# Sets S3PROXY to the jar of a second S3 service, or to nothing.
install_s3proxy() {
  local folder
  S3PROXY=""
  if command -v java >/dev/null && folder="$(e2e/tools/build.sh s3proxy)"; then
    S3PROXY="$folder/s3proxy.jar"
  else
    echo "!! NOT TESTED against a second S3 service: S3Proxy, which takes java and mvn (openjdk-17-jre-headless, maven)" >&2
  fi
}

# Sets TORCH_PYTHON to a Python that has PyTorch and PyTorch Geometric, or to nothing.
install_torch_python() {
  local folder
  TORCH_PYTHON=""
  if folder="$(e2e/tools/build.sh torch-python)"; then
    TORCH_PYTHON="$folder/bin/python"
  else
    echo "!! NOT TESTED: the Python package with PyTorch and PyTorch Geometric" >&2
  fi
}

# Sets PROMETHEUS_TOOLS to the folder with prometheus and promtool, or to nothing.
install_prometheus() {
  if ! PROMETHEUS_TOOLS="$(e2e/tools/build.sh prometheus)"; then
    PROMETHEUS_TOOLS=""
    echo "!! NOT TESTED whether alerts fire and dashboards find their data" >&2
  fi
}

# Sets KUBE_TOOLS to the folder with etcd, kube-apiserver and what belongs to them, or to nothing.
install_kube_tools() {
  if ! KUBE_TOOLS="$(e2e/tools/build.sh kube)"; then
    KUBE_TOOLS=""
    echo "!! NOT TESTED against a real API server" >&2
  fi
}

# Sets HELM_TOOLS to the folder with helm and helm-unittest, or to nothing.
install_helm() {
  if ! HELM_TOOLS="$(e2e/tools/build.sh helm)"; then
    HELM_TOOLS=""
    echo "!! NOT TESTED what the chart renders" >&2
  fi
}

# What a cluster on this machine is made of besides e2e/tools (e2e/cluster_setup/tools.py); needs install-packages.sh.
install_cluster_packages() {
  local missing
  mapfile -t missing < <(e2e/cluster packages)
  apt_install "${missing[@]}"
}

# What `espalier launch` is tested on: an sshd, which the tests start as root with a configuration of their own in network
# namespaces; needs install-packages.sh. The system's own daemon is neither used nor wanted: where Debian would start it,
# with the package or when the machine starts, it is kept from that.
install_ssh_packages() {
  local package missing=() install=(apt_install)
  if [ "$(id -u)" -ne 0 ]; then
    echo "!! NOT TESTED: espalier launch over a real ssh, whose network namespaces take root" >&2
    return 0
  fi
  for package in iproute2 openssh-client openssh-server; do
    is_installed "$package" || missing+=("$package")
  done
  if [[ " ${missing[*]} " == *" openssh-server "* ]]; then
    if command -v systemctl >/dev/null; then
      systemctl --quiet mask ssh.service ssh.socket || true
      echo "== sshd is installed for tests alone; 'systemctl unmask ssh.service ssh.socket' lets it be a service"
    fi
    install=(without_starting_services /usr/sbin/policy-rc.d apt_install)
  fi
  "${install[@]}" "${missing[@]}" || echo "!! NOT TESTED: espalier launch over a real ssh" >&2
}

# POLICY COMMAND...: while it runs, packages that are installed do not start their services. POLICY is the program that
# Debian asks; one that is there is its owner's, and decides. Ours goes with the command, also where that is interrupted.
without_starting_services() {
  local policy="$1"
  shift
  if [ -e "$policy" ]; then
    "$@"
    return
  fi
  (
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"  # "action forbidden by policy"
    chmod +x "$policy"
    "$@"
  )
}
