// A server that offers its files writes a random nonce to a file and reports the path and the nonce. If this process
// can read the same nonce from that path and its user owns the file, it runs on the server's host under the server's
// user. MapPartition then maps the partition into a GraphShard of this process, which answers each query of immutable
// data.
#include "services/client/session/mapped_partition.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "services/base/descriptor.h"
#include "services/format/partition/partition_files.h"
#include "services/shard/graph_shard.h"
#include "services/storage/open_store.h"

namespace espalier::client {

bool RunsOnServerHost(const graph::v1::MappedFiles& files) {
  if (files.nonce().empty()) return false;
  // The path comes from a peer and may name a device, a pipe or a link: open without blocking, accept regular files
  // only.
  const Descriptor file(open(files.nonce_path().c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) return false;
  struct stat about {};
  std::string contents(files.nonce().size(), '\0');
  return fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
         static_cast<size_t>(about.st_size) == contents.size() &&
         read(file.get(), contents.data(), contents.size()) == static_cast<ssize_t>(contents.size()) &&
         contents == files.nonce();
}

Result<std::shared_ptr<sampler::PartitionAccess>> MapPartition(const ServerDescription& description) {
  ASSIGN_OR_RETURN(const storage::StoreLocation at, storage::OpenStore(description.mapped_files->partitions_uri()));
  ASSIGN_OR_RETURN(const format::Manifest manifest, format::ReadManifest(*at.store, at.prefix));
  if (manifest.partition_key != description.partition_key) {
    return FailedPrecondition("the files at " + description.mapped_files->partitions_uri() +
                              " belong to partitioning '" + manifest.partition_key +
                              "', expected that of the server, '" + description.partition_key + "'");
  }
  format::LoadOptions load;
  load.checksums = format::Checksums::kSkip;
  // Load only the files that the server has loaded: other files might not be on this host.
  load.edge_columns = std::any_of(manifest.edge_columns.begin(), manifest.edge_columns.end(),
                                  [](const auto& columns) { return !columns.empty(); });
  ASSIGN_OR_RETURN(graph::Partition partition,
                   format::LoadPartition(*at.store, at.prefix, manifest, description.partition, load));
  ASSIGN_OR_RETURN(std::shared_ptr<shard::GraphShard> shard,
                   shard::GraphShard::Make(manifest.book, std::move(partition)));
  return std::shared_ptr<sampler::PartitionAccess>(std::move(shard));
}

MappedPartition::MappedPartition(std::shared_ptr<sampler::PartitionAccess> mapped,
                                 std::shared_ptr<sampler::PartitionAccess> server)
    : mapped_(std::move(mapped)), server_(std::move(server)) {}

void MappedPartition::SampleInEdges(sampler::PartitionHopQuery query, Deadline deadline,
                                    sampler::Done<sampler::PartitionHopSample> done) {
  mapped_->SampleInEdges(std::move(query), deadline, std::move(done));
}

void MappedPartition::GatherRows(NodeTypeId type, const std::string& column, std::span<const LocalNodeId> nodes,
                                 sampler::RowSink sink, Deadline deadline, sampler::DoneStatus done) {
  mapped_->GatherRows(type, column, nodes, sink, deadline, std::move(done));
}

void MappedPartition::SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline,
                                  sampler::Done<sampler::PartitionSeeds> done) {
  mapped_->SeedsOfStep(query, deadline, std::move(done));
}

void MappedPartition::ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes, Deadline deadline,
                                  sampler::Done<Tensor> done) {
  mapped_->ToGlobalIds(type, nodes, deadline, std::move(done));
}

void MappedPartition::InDegrees(EdgeTypeId type, std::span<const LocalNodeId> nodes, Deadline deadline,
                                sampler::Done<Tensor> done) {
  mapped_->InDegrees(type, nodes, deadline, std::move(done));
}

void MappedPartition::FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges, Deadline deadline,
                                sampler::Done<Tensor> done) {
  mapped_->FindEdges(type, edges, deadline, std::move(done));
}

void MappedPartition::GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges,
                                     Deadline deadline, sampler::Done<Tensor> done) {
  mapped_->GatherEdgeRows(type, column, edges, deadline, std::move(done));
}

}  // namespace espalier::client
