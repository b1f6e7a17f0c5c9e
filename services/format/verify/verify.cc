#include "services/format/verify/verify.h"

#include "services/format/partition/partition_files.h"
#include "services/format/verify/verify_parts.h"

namespace espalier::format {
namespace {

void CountFiles(const PartitionEntry& entry, VerifyReport* report) {
  report->files += entry.files().size();
  report->bytes += entry.size_bytes();
}

// Loads all partitions. Returns false if a partition cannot be loaded, which is a violation.
bool LoadAll(storage::ObjectStore& store, const std::string& prefix, const VerifyOptions& options,
             LoadedPartitioning* loaded, VerifyReport* report) {
  const LoadOptions load_options = {.node_columns = true,
                                    .edge_columns = true,
                                    .original_edge_ids = true,
                                    .checksums = Checksums::kCompare,
                                    .threads = options.threads,
                                    .data_dir = options.data_dir,
                                    .cache_bytes = options.cache_bytes};
  bool all_loaded = true;
  for (uint32_t p = 0; p < loaded->manifest.partitions.size(); ++p) {
    Result<graph::Partition> partition = LoadPartition(store, prefix, loaded->manifest, PartitionId(p), load_options);
    CountFiles(loaded->manifest.partitions[p], report);
    AddDone(options.meter, loaded->manifest.partitions[p].size_bytes());
    ++report->partitions;
    if (!partition.ok()) {
      report->Add("partition " + std::to_string(p) + ": " + partition.status().message());
      all_loaded = false;
      continue;
    }
    loaded->partitions.push_back(*std::move(partition));
  }
  return all_loaded;
}

void ExpectWork(const Manifest& manifest, const VerifyOptions& options) {
  const uint64_t num_passes = options.source == nullptr ? 1 : 2;
  AddExpected(options.meter, num_passes * manifest.book.num_edges() * kMeteredBytesOfEdge);
  for (const PartitionEntry& entry : manifest.partitions) AddExpected(options.meter, entry.size_bytes());
}

void CountContent(const Manifest& manifest, VerifyReport* report) {
  report->nodes = manifest.book.num_nodes();
  report->edges = manifest.book.num_edges();
  for (const auto& columns : manifest.node_columns) report->columns += columns.size();
  for (const auto& columns : manifest.edge_columns) report->columns += columns.size();
}

}  // namespace

void VerifyReport::Add(std::string violation) {
  ++num_violations;
  if (violations.size() < kMaxViolations) violations.push_back(std::move(violation));
}

Result<VerifyReport> VerifyPartitioning(storage::ObjectStore& store, const std::string& prefix,
                                        const VerifyOptions& options) {
  VerifyReport report;
  LoadedPartitioning loaded;
  ASSIGN_OR_RETURN(loaded.manifest, ReadManifest(store, prefix));
  loaded.meter = options.meter;
  ExpectWork(loaded.manifest, options);
  CountContent(loaded.manifest, &report);
  if (!LoadAll(store, prefix, options, &loaded, &report)) return report;
  VerifyNodes(&loaded, &report);
  // The following steps depend on a valid mapping of node ids.
  if (!report.ok()) return report;
  VerifySplits(loaded, &report);
  VerifyEdgeSplits(loaded, &report);
  VerifyEdges(loaded, &report);
  VerifyQuality(loaded, &report);
  if (options.source != nullptr) {
    report.compared_with_source = true;
    if (CompareNodes(loaded, *options.source, &report)) {
      CompareEdges(loaded, *options.source, &report);
      CompareEdgeSplits(loaded, *options.source, &report);
    }
  }
  return report;
}

}  // namespace espalier::format
