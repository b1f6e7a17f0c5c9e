#!/usr/bin/env bash
# Installs what is missing (Debian 12, root or sudo), builds, and trains GraphSAGE on the Cora citation graph with
# two partitions, two graph servers and two trainers, each a process of its own.
set -euo pipefail
cd "$(dirname "$0")"
source services/cmake/check-disk-space.sh
source services/cmake/install-packages.sh
source services/cmake/install-torch.sh

check_disk_space "$PWD/build" "$DISK_GIB_QUICKSTART" "a checkout there"
install_packages
install_torch
echo "== building (the first build takes some minutes)"
cmake --preset release -DESPALIER_TORCH="${ESPALIER_TORCH:-}" >/dev/null
cmake --build --preset release --target espalier espalier-partitioner espalier-graph-server espalier-sampler espalier-trainer

output="${1:-runs/cora}"
echo "== training"
build/release/bin/espalier run -f services/examples/cora.yaml --output "$output"

accuracy=$(python3 -c 'import json,sys; print("%.1f" % (100 * json.load(open(sys.argv[1]))["testAccuracy"]))' "$output/result.json")
cat <<MESSAGE

Test accuracy on Cora's public split: $accuracy %
Published for comparison: GCN 81.5 % (Kipf and Welling 2017), GraphSAGE 83.3 % (DGL, full batch)

What the run left in $output:
  result.json    metrics, losses per epoch, digests
  model/         safetensors, best and last
  embeddings/, predictions/, logits/   .npy under the original node ids
  logs/          one file per process
Next: README.md, "Your own graph".
MESSAGE
