// Verifies the files of a partitioning, by themselves and against the source graph: the implementation of `espalier
// verify`. It recomputes all derived data and shares no code with the partitioner except the functions for names, the
// layout and the positions of parallel edges (services/partition/parallel_edges.h).
#pragma once

#include <string>
#include <vector>

#include "services/base/work_meter.h"
#include "services/format/partition/manifest.h"
#include "services/graph/source_graph.h"
#include "services/storage/object_store.h"

namespace espalier::format {

struct VerifyOptions {
  // The graph that was partitioned, after preprocessing and ValidateSourceGraph. Null: only the files are verified,
  // without a comparison with the source.
  const graph::SourceGraph* source = nullptr;
  int threads = 1;
  std::string data_dir;      // see LoadOptions
  uint64_t cache_bytes = 0;  // see LoadOptions
  // Unless null, counts the bytes of all files once, and kMeteredBytesOfEdge (verify_parts.h) for each edge: once, or,
  // with a source, twice.
  WorkMeter* meter = nullptr;
};

struct VerifyReport {
  static constexpr size_t kMaxViolations = 100;

  uint64_t partitions = 0, files = 0, bytes = 0, nodes = 0, edges = 0, columns = 0;  // according to the manifest
  bool compared_with_source = false;
  Quality quality;  // recomputed; all zero if a partition cannot be loaded or node ids are invalid
  uint64_t num_violations = 0;
  std::vector<std::string> violations;  // the first kMaxViolations, in a fixed order

  bool ok() const { return num_violations == 0; }
  // Counts a violation, and appends it to `violations` if there are fewer than kMaxViolations.
  void Add(std::string violation);
};

// Verifies the partitioning at `prefix`. Returns an error only if the manifest cannot be read; reports all other
// problems as violations. Files are mapped. Memory holds some numbers per node, the splits, and, with a source, one
// number per edge of one type.
Result<VerifyReport> VerifyPartitioning(storage::ObjectStore& store, const std::string& prefix,
                                        const VerifyOptions& options);

}  // namespace espalier::format
