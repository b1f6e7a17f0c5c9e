// Loads the manifest and every partition with the functions that graph servers use, and wraps the partitions in one
// PartitionedGraph with Access::kMapped. Original edge ids are loaded on first use.
#include "services/client/session/standalone.h"

#include <algorithm>
#include <utility>

#include "services/base/parallel.h"
#include "services/format/partition/partition_files.h"
#include "services/shard/local_graph.h"
#include "services/storage/open_store.h"

namespace espalier::client {
namespace {

Result<std::vector<graph::Partition>> LoadAll(const storage::StoreLocation& location,
                                              const std::shared_ptr<const format::Manifest>& manifest,
                                              const SessionOptions& options) {
  format::LoadOptions load;
  load.threads = AvailableProcessors();
  load.data_dir = options.standalone.cache.folder;
  load.cache_bytes = options.standalone.cache.max_bytes;
  load.stop_requested = [stop = options.channel.stop] { return stop.stop_requested(); };
  // Sampling by weight, by time or by LABOR, and requests for rows of edges, need the edge columns.
  load.edge_columns = std::any_of(manifest->edge_columns.begin(), manifest->edge_columns.end(),
                                  [](const auto& columns) { return !columns.empty(); });
  std::vector<graph::Partition> partitions;
  for (uint32_t p = 0; p < manifest->book.num_partitions(); ++p) {
    ASSIGN_OR_RETURN(graph::Partition partition,
                     format::LoadPartition(*location.store, location.prefix, *manifest, PartitionId(p), load));
    partition.load_original_edge_ids = format::MakeOriginalEdgeIdsLoader(location, manifest, PartitionId(p), load);
    partitions.push_back(std::move(partition));
  }
  return partitions;
}

}  // namespace

Result<Session> OpenStandalone(const SessionOptions& options) {
  const std::string& uri = options.standalone.partitions_uri;
  if (!options.addresses.empty()) {
    return InvalidArgument("addresses of graph servers and standalone.partitions_uri '" + uri +
                           "' are both set: expected only one of them");
  }
  if (options.access == Access::kRpc) {
    return FailedPrecondition("access rpc needs graph servers, but the partitions at " + uri +
                              " are opened in this process: use access auto or mapped");
  }
  ASSIGN_OR_RETURN(const storage::StoreLocation location, storage::OpenStore(uri, options.standalone.stores));
  ASSIGN_OR_RETURN(format::Manifest read, format::ReadManifest(*location.store, location.prefix));
  const auto manifest = std::make_shared<const format::Manifest>(std::move(read));
  if (!options.partition_key.empty() && manifest->partition_key != options.partition_key) {
    return FailedPrecondition(uri + " holds partitioning '" + manifest->partition_key + "', expected '" +
                              options.partition_key + "'");
  }
  ASSIGN_OR_RETURN(std::vector<graph::Partition> partitions, LoadAll(location, manifest, options));
  Session session;
  session.graph_name = manifest->graph_name;
  session.warnings = manifest->warnings;
  session.partition_key = manifest->partition_key;
  session.incarnation = std::make_shared<Incarnation>(options.incarnation.value_or(0));
  session.access.assign(partitions.size(), Access::kMapped);
  ASSIGN_OR_RETURN(session.graph, shard::OpenLocalGraph(manifest->book, std::move(partitions)));
  return session;
}

}  // namespace espalier::client
