// Writing and reading the files of a partitioning.
#pragma once

#include <memory>

#include "services/format/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// The manifest at `<prefix>/manifest.json`.
Result<Manifest> ReadManifest(storage::ObjectStore& store, const std::string& prefix);

struct LoadOptions {
  bool node_columns = true;
  bool edge_columns = false;
  bool original_edge_ids = false;
  bool verify_checksums = true;
  int threads = 1;
  // Files that cannot be mapped where they lie are copied here first (tmpfs or disk). Empty: they must be local.
  std::string data_dir;
};

// Maps one partition. Every checksum and every invariant that a reader relies on is verified before it returns
// (monotone indptr, ids in range, ...): DataLoss names file, block and offset. Untrusted input.
Result<graph::Partition> LoadPartition(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                                       PartitionId partition, const LoadOptions& options);

// Writes one partition's four files under `<prefix>/<attempt>/part-NNNNN/` and returns their entries.
Result<PartitionEntry> WritePartition(storage::ObjectStore& store, const std::string& prefix,
                                      const std::string& attempt, const graph::PartitionBook& book,
                                      const graph::Partition& partition);

// Commits: puts manifest.json where none exists. AlreadyExists: another attempt won, use its manifest.
Status CommitManifest(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest);

}  // namespace espalier::format
