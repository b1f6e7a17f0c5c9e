// LoadServedPartition maps the files of a partition in place if they are local and copies them to the cache folder
// otherwise. Files are checked against their checksums, except copies that are already verified. The shard's limits for
// tensors and gradients depend on the memory of the process.
#include "services/server/main/served_graph.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "services/base/clock.h"
#include "services/format/partition/partition_files.h"
#include "services/rpc/limits.h"
#include "services/storage/file_uri.h"
#include "services/telemetry/log.h"
#include "services/telemetry/memory_limit.h"

namespace espalier::server {
namespace {

// Logs the progress of a download about every ten seconds.
class DownloadLog {
 public:
  void operator()(const std::string& key, uint64_t present_bytes, uint64_t size_bytes) {
    if (timer_.Seconds() < 10) return;
    timer_ = Timer();
    telemetry::Log(telemetry::Level::kInfo, "copying the partition",
                   {{"file", key}, {"bytes", present_bytes}, {"of_bytes", size_bytes}});
  }

 private:
  Timer timer_;
};

// Returns the memory limit of the process, or the memory of the machine if there is no limit. Tensors and gradients
// that need more than a share of it are refused, because otherwise the kernel would kill the process.
uint64_t MemoryBytes() {
  const uint64_t machine_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(telemetry::MemoryLimitBytes().value_or(machine_bytes), machine_bytes);
}

}  // namespace

sampler::GraphDescription DescribeGraph(const format::Manifest& manifest) {
  sampler::GraphDescription description{.book = manifest.book, .columns = {}, .splits = {}, .edge_splits = {}};
  for (uint16_t type = 0; type < manifest.node_columns.size(); ++type) {
    description.columns.push_back({NodeTypeId(type), sampler::kOriginalIdColumn, DType::kU64, {}});
    for (const format::ColumnEntry& column : manifest.node_columns[type]) {
      description.columns.push_back({NodeTypeId(type), column.name, column.dtype, column.row_shape, column.scales});
    }
  }
  std::sort(description.columns.begin(), description.columns.end(), [](const auto& a, const auto& b) {
    return std::pair(a.node_type, a.name) < std::pair(b.node_type, b.name);
  });
  for (uint16_t type = 0; type < manifest.edge_columns.size(); ++type) {  // sorted by name
    for (const format::ColumnEntry& column : manifest.edge_columns[type]) {
      description.edge_columns.push_back({EdgeTypeId(type), column.name, column.dtype, column.row_shape});
    }
  }
  for (const format::SplitEntry& split : manifest.splits) {
    description.splits.push_back({NodeTypeId(split.node_type), split.name, split.train, split.validation, split.test});
  }
  for (const format::EdgeSplitEntry& split : manifest.edge_splits) {
    description.edge_splits.push_back(
        {EdgeTypeId(split.edge_type), split.name, split.train, split.validation, split.test});
  }
  return description;
}

Result<LoadedPartition> LoadServedPartition(const std::string& uri, uint32_t partition,
                                            const ServedPartitionOptions& options) {
  ASSIGN_OR_RETURN(const storage::StoreLocation at, options.open_store(uri));
  LoadedPartition loaded;
  ASSIGN_OR_RETURN(loaded.manifest, format::ReadManifest(*at.store, at.prefix));
  if (partition >= loaded.manifest.book.num_partitions()) {
    return OutOfRange("partition " + std::to_string(partition) + " of " + uri + " does not exist; there are " +
                      std::to_string(loaded.manifest.book.num_partitions()));
  }
  format::LoadOptions load;
  load.threads = options.threads;
  load.checksums = format::Checksums::kCompareOnce;  // several servers of a partition may share one copy
  load.data_dir = options.cache.folder;
  load.cache_bytes = options.cache.max_bytes;
  load.stop_requested = options.stop_requested;
  load.progress = DownloadLog();
  load.copied = &loaded.copied;
  // Weighted draws need the weights. The arrays are mapped, so unused ones cost only address space.
  load.edge_columns = std::any_of(loaded.manifest.edge_columns.begin(), loaded.manifest.edge_columns.end(),
                                  [](const auto& columns) { return !columns.empty(); });
  ASSIGN_OR_RETURN(graph::Partition arrays,
                   format::LoadPartition(*at.store, at.prefix, loaded.manifest, PartitionId(partition), load));
  arrays.load_original_edge_ids = format::MakeOriginalEdgeIdsLoader(
      at, std::make_shared<const format::Manifest>(loaded.manifest), PartitionId(partition), load);
  loaded.local_uri = uri;
  if (!storage::IsLocalUri(uri)) {
    ASSIGN_OR_RETURN(const std::string folder, format::FolderOfCopies(load.data_dir, loaded.manifest));
    loaded.local_uri = "file://" + folder;
  }
  shard::ShardLimits limits;
  limits.mutable_tensor_bytes = MemoryBytes() / 4 * 3;
  limits.waiting_gradient_bytes = MemoryBytes() / 8;
  // Far more than the in-edges of one node, so a request for one node is not refused; a request for many nodes may be.
  limits.max_lookups_per_request = uint64_t{1} << 32;
  limits.max_edge_row_bytes = rpc::kMaxMessageBytes;
  ASSIGN_OR_RETURN(loaded.shard,
                   shard::GraphShard::Make(loaded.manifest.book, std::move(arrays), limits, options.initializers));
  return loaded;
}

}  // namespace espalier::server
