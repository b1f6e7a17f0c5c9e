# collect.sh ROOTFS LIMIT PROGRAM...: puts these files into ROOTFS, and fails if they have more than LIMIT MB:
# - the programs, from /binaries, in usr/bin; plugins (*.so) in usr/lib/espalier;
# - the shared libraries that they load, unless the base image has them in the installed version (/images/base-packages);
#   those of wheels (/images/torch) are in usr/lib/espalier;
# - the licences of these libraries and of the packages that are compiled in; the certificate authorities;
# - if there is /images/python: Python (packages-python.txt), and the package espalier and the wheels in that folder. All of it
#   is compiled to bytecode, because the root file system of a container cannot be written;
# - if there is /images/torch-cuda (images/python-wheels): the licences of its wheels, and what its libraries load besides those
#   of torch. The image gets the libraries themselves, which are gigabytes, in a layer of their own;
# - in usr/share/doc/espalier, for inventories (images/attest): packages.txt with the names and versions of all these packages,
#   and files.txt with the Debian package of each copied file.
# For another processor (images/cross): INPUTS is the folder with binaries and images, SYSROOT has the libraries and their
# licences, and DPKG_ADMINDIR is the dpkg database of SYSROOT. INPUTS and SYSROOT are empty in an image.
set -eu
rootfs=$1 limit=$2 inputs=${INPUTS:-} sysroot=${SYSROOT:-}
shift 2
lists=$(mktemp -d)
trap 'rm -r "$lists"' EXIT

# Prints the package of a file. Its path in dpkg's database is that in the package: under /lib or under /usr/lib.
package_of() {
  dpkg -S "$1" "${1#/usr}" "/usr$1" 2>/dev/null | head -n 1 | cut -d: -f1
}

require_licence() {  # FOLDER WHEEL
  [ -n "$(find "$1" -type f \( -iname 'licen[cs]e*' -o -iname 'notice*' -o -iname 'copying*' \))" ] && return
  echo "the wheel of $2 has no licence in its .dist-info" >&2
  exit 1
}

version_of() { dpkg-query -W -f '${Package}=${Version}\n' "$1"; }

is_in_base() { version_of "$1" | grep -qxFf - "$inputs/images/base-packages"; }

# ldd cannot be used for another processor, because it runs the dynamic linker.
linked_libraries() {
  if [ -z "$sysroot" ]; then ldd "$@"; else "$inputs/images/linked-libraries" "$sysroot" "$@"; fi
}

mkdir -p "$rootfs/usr/share/doc/espalier" "$rootfs/etc/ssl/certs"
: >"$lists/packages"
: >"$lists/files"
if [ -d "$inputs/images/torch" ]; then
  mkdir -p "$rootfs/usr/lib/espalier"
  find "$inputs/images/torch/" -name 'lib*.so*' -type f | while read -r library; do
    install -m 0755 "$library" "$rootfs/usr/lib/espalier/${library##*/}"
  done
fi
packages=$rootfs/usr/local/lib/python3.11/dist-packages  # where Debian's Python finds packages
if [ -d "$inputs/images/python" ]; then
  grep -v '^#' "$inputs/images/packages-python.txt" | cut -d= -f1 | while read -r package; do
    if is_in_base "$package"; then continue; fi
    dpkg -L "$package" | grep -v '/usr/share/' | while read -r file; do
      if [ -d "$file" ] && [ ! -L "$file" ]; then continue; fi
      mkdir -p "$rootfs$(dirname "$file")"
      cp -P "$file" "$rootfs$file"
      printf '%s\t%s\n' "$package" "$file" >>"$lists/files"
    done
    echo "$package"
  done >"$lists/packages"
  mkdir -p "$rootfs/usr/bin" "$packages"
  cp -R "$inputs/images/python/." "$packages"
  ln -sf python3.11 "$rootfs/usr/bin/python3"
  ln -sf python3.11 "$rootfs/usr/bin/python"
fi
for program in "$@"; do
  if [ ! -f "$inputs/binaries/$program" ]; then
    echo "$program is missing in the binaries" >&2
    exit 1
  fi
  case "$program" in
    _core.*) folder=$packages/espalier ;;
    *.so) folder=$rootfs/usr/lib/espalier ;;
    *) folder=$rootfs/usr/bin ;;
  esac
  install -D -m 0755 "$inputs/binaries/$program" "$folder/$program"
  linked_libraries "$folder/$program"
done >"$lists/ldd"
# Libraries that Python and the modules of its standard library load.
find "$rootfs" \( -path '*/bin/python3.*' -o -path '*/lib-dynload/*.so' \) -type f -exec ldd {} + >>"$lists/ldd"
# The driver's library is not in an image: the container runtime adds it.
cuda=$inputs/images/torch-cuda
if [ -d "$cuda" ]; then
  LD_LIBRARY_PATH=$rootfs/usr/lib/espalier ldd "$cuda"/lib/* | sed '/libcuda\.so\.1 => not found/d' >>"$lists/ldd"
fi
if grep 'not found' "$lists/ldd" >&2; then
  echo "libraries are missing: the package lists do not match the binaries" >&2
  exit 1
fi

# Each library is copied to the path where the dynamic linker finds it; a symbolic link is replaced by its target.
sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' "$lists/ldd" | grep -vF -e "$rootfs/" -e "$cuda/" | sort -u | while read -r library; do
  file=$(readlink -f "$sysroot$library")
  package=$(package_of "${file#"$sysroot"}")
  if is_in_base "$package"; then continue; fi
  if [ "$package" = libc6 ]; then  # must match the dynamic linker, which is that of the base
    echo "the base image's C library is too old for the pinned packages: use a newer base image" >&2
    exit 1
  fi
  case "$library" in
    /usr/*) target=$library ;;
    *) target=/usr$library ;;
  esac
  mkdir -p "$rootfs$(dirname "$target")"
  cp "$file" "$rootfs$target"
  printf '%s\t%s\n' "$package" "$target" >>"$lists/files"
  echo "$package"
done >>"$lists/packages"
echo ca-certificates >>"$lists/packages"

sort -u "$lists/packages" | while read -r package; do
  mkdir -p "$rootfs/usr/share/doc/$package"
  cp -L "$sysroot/usr/share/doc/$package/copyright" "$rootfs/usr/share/doc/$package/copyright"
  version_of "$package"
done >"$rootfs/usr/share/doc/espalier/packages.txt"
grep -v '^#' "$inputs/images/compiled-in.txt" | while IFS='=' read -r package version; do
  mkdir -p "$rootfs/usr/share/doc/$package"
  cp "$inputs/images/licences/$package/copyright" "$rootfs/usr/share/doc/$package/copyright"
  echo "$package=$version (compiled in)"
done >>"$rootfs/usr/share/doc/espalier/packages.txt"
if [ -d "$inputs/images/torch" ]; then
  for wheel in "$inputs/images/torch"*/*.dist-info; do
    name=${wheel##*/} name=${name%.dist-info}
    mkdir -p "$rootfs/usr/share/doc/${name%-*}"
    find "$wheel" -type f -exec cp {} "$rootfs/usr/share/doc/${name%-*}/" \;
    require_licence "$rootfs/usr/share/doc/${name%-*}" "$name"
    echo "${name%-*}=${name##*-} (wheel)"
  done >"$lists/wheels"
  sort -u "$lists/wheels" >>"$rootfs/usr/share/doc/espalier/packages.txt"  # torch is in both folders
fi
if [ -d "$inputs/images/python" ]; then
  for wheel in "$inputs/images/python/"*.dist-info; do
    name=${wheel##*/} name=${name%.dist-info}
    licences=$rootfs/usr/share/doc/${name%-*}
    mkdir -p "$licences"
    find "$wheel" -type f \( -iname 'licen[cs]e*' -o -iname 'notice*' -o -iname 'copying*' \) -exec cp {} "$licences/" \;
    require_licence "$licences" "$name"
    echo "${name%-*}=${name##*-} (wheel)"
  done >>"$rootfs/usr/share/doc/espalier/packages.txt"
  python3.11 -m compileall -q -j 0 --invalidation-mode unchecked-hash -s "$rootfs" -p / "$rootfs/usr"
fi
sort -u "$lists/files" >"$rootfs/usr/share/doc/espalier/files.txt"
cp "$inputs/images/LICENSE" "$rootfs/usr/share/doc/espalier/copyright"
cp -L "$sysroot/etc/ssl/certs/ca-certificates.crt" "$rootfs/etc/ssl/certs/ca-certificates.crt"

bytes=$(du -sb "$rootfs" | cut -f1)
if [ -d "$cuda" ]; then bytes=$((bytes + $(du -sb "$cuda/lib" | cut -f1))); fi
size=$((bytes / 1000000))
echo "the image adds $size MB to its base (at most $limit)"
[ "$size" -le "$limit" ]
