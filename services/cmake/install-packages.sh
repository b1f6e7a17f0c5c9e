# Sourced by quickstart.sh and test.sh: installs what debian-packages.txt names and this machine lacks.

install_packages() {
  local list missing=() package
  list="$(dirname "${BASH_SOURCE[0]}")/debian-packages.txt"
  while read -r package; do
    case "$package" in '' | '#'*) continue ;; esac
    is_installed "$package" || missing+=("$package")
  done <"$list"
  apt_install "${missing[@]}"
}

is_installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# PACKAGE...: those that are missing.
apt_install() {
  local missing=("$@") sudo=()
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  if ! command -v apt-get >/dev/null; then
    echo "These packages are missing, and apt-get is not available to install them: ${missing[*]}" >&2
    return 74
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Run this as root, or install sudo: these packages are missing: ${missing[*]}" >&2
      return 77
    fi
    sudo=(sudo)
  fi
  echo "== installing ${#missing[@]} Debian packages"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
