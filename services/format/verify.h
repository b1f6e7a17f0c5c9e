// Recomputes from the files of a partitioning, and from the graph that it was made of, everything that they promise:
// the engine of `espalier verify`. It shares no code with what made them, but for names.
#pragma once

#include <string>
#include <vector>

#include "services/base/work_meter.h"
#include "services/format/manifest.h"
#include "services/graph/source_graph.h"
#include "services/storage/object_store.h"

namespace espalier::format {

struct VerifyOptions {
  // The graph as it was partitioned: preprocessed, and past ValidateSourceGraph; null: what the files alone tell is
  // verified.
  const graph::SourceGraph* source = nullptr;
  int threads = 1;
  std::string data_dir;      // as in LoadOptions
  uint64_t cache_bytes = 0;  // likewise
  // Counts the bytes of files, and once more those of in-edges where they are looked at; null: nobody watches.
  WorkMeter* meter = nullptr;
};

struct VerifyReport {
  static constexpr size_t kMaxViolations = 100;

  uint64_t partitions = 0, files = 0, bytes = 0, nodes = 0, edges = 0, columns = 0;  // looked at
  bool compared_with_source = false;
  Quality quality;  // recomputed; all zero where a partition cannot be loaded
  uint64_t num_violations = 0;
  std::vector<std::string> violations;  // the first kMaxViolations, in a fixed order

  bool ok() const { return num_violations == 0; }
  void Add(std::string violation);
};

// An error only where there is no manifest to verify; all else is in the report. Memory: two numbers per node, with a
// source also one per edge of a type; files are mapped.
Result<VerifyReport> VerifyPartitioning(storage::ObjectStore& store, const std::string& prefix,
                                        const VerifyOptions& options);

}  // namespace espalier::format
