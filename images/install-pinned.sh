# install-pinned.sh LIST...: installs the packages of the lists, without packages that they only recommend. Writes the packages
# that the base image had before to /images/base-packages, name=version. Of the packages in /images/compiled-in.txt, which no
# program loads, it writes only the licences, to /images/licences/<package>.
set -eu
export DEBIAN_FRONTEND=noninteractive
compiled_in=/images/compiled-in.txt

pins() { grep -hv '^#' "$@"; }
fail() {
  echo "install-pinned.sh: $1" >&2
  exit 1
}

dpkg-query -W -f '${Package}=${Version}\n' >/images/base-packages
apt-get update -qq -o APT::Update::Error-Mode=any ||
  fail "Debian's package lists could not be downloaded (see apt's output above): check the network, the proxy and the mirror"

# Debian's archive has only the newest version of a package.
gone=$(pins "$@" "$compiled_in" | while read -r pin; do
  [ -n "$(apt-cache show "$pin" 2>/dev/null)" ] || printf ' %s' "$pin"
done)
[ -z "$gone" ] || fail "these versions are no longer available:$gone. Run images/pin and review its changes"

pins "$@" | xargs apt-get install -y -qq --no-install-recommends >/dev/null ||
  fail "the pinned versions are available but could not be installed (see apt's output above): check the network and the disk"

mkdir -p /images/licences /tmp/compiled-in
cd /tmp/compiled-in
pins "$compiled_in" | xargs apt-get download -qq -o APT::Sandbox::User=root ||
  fail "the pinned versions are available but could not be downloaded (see apt's output above): check the network and the disk"
for archive in *.deb; do
  package=${archive%%_*}
  mkdir -p "/images/licences/$package"
  dpkg-deb --fsys-tarfile "$archive" | tar -xO "./usr/share/doc/$package/copyright" >"/images/licences/$package/copyright"
done
rm -r /tmp/compiled-in
