# Sourced by quickstart.sh and test.sh: compares the files that they write with the free space of the disks, so that a full
# disk is reported before the build, and not by the programs that fail on it.

# GiB, measured on x86-64 with Debian 12.
DISK_GIB_QUICKSTART=3  # the programs, build/torch, and the wheels while they are unpacked
DISK_GIB_RELEASE=3     # build/release with tests, build/torch, build/python
DISK_GIB_SANITIZER=6   # build/asan or build/tsan
DISK_GIB_TOOLS=5       # programs of e2e/tools, most of it PyTorch in Python
DISK_GIB_TESTS=1       # temporary files of tests
DISK_GIB_CLUSTER=7     # temporary files of --with-e2e: layers of the images, images of the nodes, and the largest scenario

# { FOLDER GIB ELSEWHERE }...: returns 74 if a disk has too little free space for the files of its folders. Then it prints
# both sizes for the disk, and for each folder the size and how to use ELSEWHERE. A folder need not exist. Its files count as
# written, except in the folder for temporary files, which other programs use too.
check_disk_space() {
  local folder parent disk kib written status=0
  local -A needed=() free=() mount=() lines=()
  while [ $# -gt 0 ]; do
    folder="$1" kib=$(($2 << 20)) written=0
    if [ -e "$folder" ] && [ "$folder" != "${TMPDIR:-/tmp}" ]; then written="$(du -skD "$folder" 2>/dev/null | cut -f1 || true)"; fi
    kib=$((kib > written ? kib - written : 0))
    parent="$folder"
    until [ -e "$parent" ]; do parent="$(dirname "$parent")"; done
    disk="$(stat -L --format=%d "$parent")"
    free[$disk]="$(df -k --output=avail "$parent" | tail -n 1)"
    mount[$disk]="$(df --output=target "$parent" | tail -n 1)"
    needed[$disk]=$((${needed[$disk]:-0} + kib))
    if [ "$kib" -gt 0 ]; then lines[$disk]+="  $(format_gib "$kib") in $folder (on another disk: $3)"$'\n'; fi
    shift 3
  done
  for disk in "${!needed[@]}"; do
    if ! [[ "${free[$disk]}" =~ ^[0-9]+$ ]] || [ "${needed[$disk]}" -le "${free[$disk]}" ]; then continue; fi  # "-": unknown
    echo "The disk of ${mount[$disk]} has $(format_gib "${free[$disk]}") of free space, and" \
      "$(format_gib "${needed[$disk]}") are needed:" >&2
    echo "${lines[$disk]}Delete files on this disk, or use another one as shown." >&2
    status=74
  done
  return "$status"
}

# KIB: in GiB, with one decimal.
format_gib() { awk -v kib="$1" 'BEGIN { printf "%.1f GiB", kib / 1048576 }'; }
