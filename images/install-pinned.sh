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
  fail "Debian's lists of packages did not come (apt's words are above): no network, no proxy, or a mirror that is away"

# Debian's archive has only the newest version of a package.
gone=$(pins "$@" "$compiled_in" | while read -r pin; do
  [ -n "$(apt-cache show "$pin" 2>/dev/null)" ] || printf ' %s' "$pin"
done)
[ -z "$gone" ] || fail "these versions are not to be had any more:$gone. Run images/pin and look at what it changes"

pins "$@" | xargs apt-get install -y -qq --no-install-recommends >/dev/null ||
  fail "the pinned versions are to be had, and were not installed (apt's words are above): the network, or the disk"

mkdir -p /images/licences /tmp/compiled-in
cd /tmp/compiled-in
pins "$compiled_in" | xargs apt-get download -qq -o APT::Sandbox::User=root ||
  fail "the pinned versions are to be had, and did not come (apt's words are above): the network, or the disk"
for archive in *.deb; do
  package=${archive%%_*}
  mkdir -p "/images/licences/$package"
  dpkg-deb --fsys-tarfile "$archive" | tar -xO "./usr/share/doc/$package/copyright" >"/images/licences/$package/copyright"
done
rm -r /tmp/compiled-in
