# Sourced by test.sh: programs that tests run against and Debian does not have. They are built once into a cache folder,
# $ESPALIER_TOOLS (default ~/.cache/espalier/tools); without Go the tests that need them are left out, loudly.

VERSITYGW_VERSION=v1.7.0

# Sets VERSITYGW to the program (github.com/versity/versitygw, an S3 service over a folder), or to nothing.
install_versitygw() {
  local folder="${ESPALIER_TOOLS:-$HOME/.cache/espalier/tools}/versitygw-$VERSITYGW_VERSION" staging
  VERSITYGW="$folder/versitygw"
  if [ -x "$VERSITYGW" ]; then return 0; fi
  VERSITYGW=""
  if ! has_go_1_21; then
    echo "!! NOT TESTED against a real S3 service: building versitygw needs go 1.21 or later, which is not here" >&2
    return 0
  fi
  echo "== building versitygw $VERSITYGW_VERSION"
  mkdir -p "$folder"
  staging="$(mktemp -d "$folder/build-XXXXXX")"
  if GOBIN="$staging" go install "github.com/versity/versitygw/cmd/versitygw@$VERSITYGW_VERSION" >"$staging/log" 2>&1; then
    mv "$staging/versitygw" "$folder/versitygw"  # complete or not there
    VERSITYGW="$folder/versitygw"
  else
    tail -n 20 "$staging/log" >&2
    echo "!! NOT TESTED against a real S3 service: versitygw could not be built" >&2
  fi
  rm -rf "$staging"
}

has_go_1_21() {
  local version
  version="$(go env GOVERSION 2>/dev/null)" || return 1
  [ "$(printf '%s\n' go1.21 "$version" | sort -V | head -n 1)" = go1.21 ]
}
