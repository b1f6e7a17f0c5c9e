# install-pinned.sh LIST...: installs the packages of the lists, and nothing that they only recommend. What the base
# image had before is noted in /images/base-packages.
set -eu
export DEBIAN_FRONTEND=noninteractive
dpkg-query -W -f '${Package}\n' >/images/base-packages
apt-get update -qq
grep -hv '^#' "$@" | xargs apt-get install -y -qq --no-install-recommends >/dev/null || {
  # Debian keeps the newest version only.
  echo "a pinned version is not to be had any more: run images/pin and look at what it changes" >&2
  exit 1
}
