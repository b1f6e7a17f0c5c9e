#!/usr/bin/env bash
# Prints three pages, ten headers and ten sources for a reading test, drawn with a commit's hash as the seed:
#   services/tests/reading_draw.sh [REVISION]     the default is HEAD
# A reader who does not know the project lists every sentence and name that needs a second reading. The test passes if
# there are at most two.
set -euo pipefail
cd "$(dirname "$0")/../.."

seed=$(git rev-parse "${1:-HEAD}")
random_bytes() { openssl enc -aes-256-ctr -pass pass:"$seed" -nosalt </dev/zero 2>/dev/null; }
draw() { shuf --head-count "$1" --random-source=<(random_bytes || true); }

git ls-files 'docs/*.md' '*README.md' CONTRIBUTING.md ':!docs/decisions' ':!docs/reference' | draw 3
git ls-files '*.h' ':!*/testing/*' | draw 10
git ls-files '*.cc' ':!*_test.cc' ':!*/testing/*' ':!*/testdata/*' | draw 10
