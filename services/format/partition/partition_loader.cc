// A partition is loaded without copying: each file is mapped, and its tensors point into the mapping. The checks are,
// in this order: size, checksums of the blocks (unless skipped or already verified for a cached copy), safetensors
// header, metadata, and finally the values (partition_validation.h). Code that uses a loaded partition needs no bounds
// checks.
#include <memory>
#include <utility>

#include "services/base/check.h"
#include "services/format/files/checksum.h"
#include "services/format/files/manifest_text.h"
#include "services/format/files/mapped_file.h"
#include "services/format/files/safetensors.h"
#include "services/format/partition/partition_copies.h"
#include "services/format/partition/partition_files.h"
#include "services/format/partition/partition_names.h"
#include "services/format/partition/partition_validation.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

// The owner of the tensors: keeps the mapping alive and pins the copy in the cache.
using MappedCopy = std::pair<std::shared_ptr<const MappedFile>, std::shared_ptr<const void>>;

class PartitionLoader {
 public:
  PartitionLoader(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                  PartitionId partition, const LoadOptions& options)
      : copies_(store, prefix, manifest, options), manifest_(manifest), partition_(partition), options_(options) {}

  Result<graph::Partition> Load() {
    const PartitionEntry& entry = manifest_.partitions[partition_.value];
    const size_t num_edge_types = manifest_.book.schema().num_edge_types();
    graph::Partition partition;
    partition.id = partition_;
    partition.original_edge_ids.resize(num_edge_types);
    partition.edge_columns.resize(num_edge_types);
    RETURN_IF_ERROR(Read(entry.graph, kGraphPart, [&](TensorTable* file) {
      return TakeGraph(manifest_, partition_, options_.threads, file, &partition);
    }));
    if (options_.node_columns) {
      RETURN_IF_ERROR(Read(entry.node_columns, kNodeColumnsPart, [&](TensorTable* file) {
        return TakeNodeColumns(manifest_, partition_, options_.threads, file, &partition);
      }));
    }
    if (options_.edge_columns) {
      RETURN_IF_ERROR(Read(entry.edge_columns, kEdgeColumnsPart, [&](TensorTable* file) {
        return TakeEdgeColumns(manifest_, partition_, options_.threads, file, &partition);
      }));
    }
    if (options_.original_edge_ids) RETURN_IF_ERROR(LoadEdgeIds(&partition));
    return partition;
  }

  // Loads partition->original_edge_ids, which must have the number of edge types as its size.
  Status LoadEdgeIds(graph::Partition* partition) {
    const PartitionEntry& entry = manifest_.partitions[partition_.value];
    return Read(entry.original_edge_ids, kEdgeIdsPart,
                [&](TensorTable* file) { return TakeOriginalEdgeIds(manifest_, partition_, file, partition); });
  }

 private:
  // Maps one file, verifies it, and passes its tensors to `take`. Errors name the file.
  template <class TakeTensors>
  Status Read(const FileEntry& entry, const char* part, const TakeTensors& take) {
    if (options_.stop_requested && options_.stop_requested())
      return Cancelled("asked to stop before reading " + entry.key);
    ASSIGN_OR_RETURN(const LocalFile file, copies_.Get(entry));
    const std::string& path = file.path;
    ASSIGN_OR_RETURN(const auto mapped, MappedFile::Open(path, entry.size_bytes));
    if (options_.checksums != Checksums::kSkip && !file.verified) {
      RETURN_IF_ERROR(CheckBlocks(entry, mapped->bytes(), path, options_.threads, options_.stop_requested));
    }
    const auto owner = std::make_shared<const MappedCopy>(mapped, file.pin);
    ASSIGN_OR_RETURN(Safetensors content, ReadSafetensors(mapped->bytes(), owner).While(path));
    RETURN_IF_ERROR(CheckMetadata(content.metadata, part).While(path));
    TensorTable table(std::move(content.tensors));
    return take(&table).While(path);
  }

  // Detects a file of another partition, or another file of this partition, whose size happens to match.
  Status CheckMetadata(const std::map<std::string, std::string>& metadata, const char* part) const {
    const std::pair<const char*, std::string> expected[] = {{"espalier.part", part},
                                                            {"espalier.partition", std::to_string(partition_.value)}};
    for (const auto& [key, value] : expected) {
      const auto found = metadata.find(key);
      if (found == metadata.end() || found->second != value) {
        return DataLoss(std::string("metadata '") + key + "': expected '" + value + "', found " +
                        (found == metadata.end() ? "nothing" : "'" + found->second + "'"));
      }
    }
    return Status();
  }

  PartitionCopies copies_;
  const Manifest& manifest_;
  const PartitionId partition_;
  const LoadOptions& options_;
};

}  // namespace

Result<Manifest> ReadManifest(storage::ObjectStore& store, const std::string& prefix) {
  const std::string key = storage::JoinKey(prefix, kManifestKey);
  const Result<std::string> text = ReadManifestText(store, key);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
    return NotFound(store.Describe() + ": there is no " + key +
                    ", so there is no partitioning (the manifest is written last)");
  }
  if (!text.ok()) return text.status().While("reading " + key);
  return ManifestFromJson(*text).While(store.Describe() + ": " + key);
}

Result<graph::Partition> LoadPartition(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                                       PartitionId partition, const LoadOptions& options) {
  if (partition.value >= manifest.partitions.size()) {
    return InvalidArgument("there is no partition " + std::to_string(partition.value) + ": this partitioning has " +
                           std::to_string(manifest.partitions.size()) + " partitions");
  }
  return PartitionLoader(store, prefix, manifest, partition, options).Load();
}

std::function<Result<std::vector<Tensor>>(const std::stop_token&)> MakeOriginalEdgeIdsLoader(
    storage::StoreLocation at, std::shared_ptr<const Manifest> manifest, PartitionId partition, LoadOptions options) {
  ESPALIER_CHECK(partition.value < manifest->partitions.size()) << "partition " << partition.value;
  options.copied = nullptr;  // the returned function might be called after *copied is destroyed
  return [=](const std::stop_token& stop) -> Result<std::vector<Tensor>> {
    LoadOptions stoppable = options;
    stoppable.stop_requested = [stop, also = options.stop_requested] {
      return stop.stop_requested() || (also != nullptr && also());
    };
    graph::Partition loaded;
    loaded.original_edge_ids.resize(manifest->book.schema().num_edge_types());
    RETURN_IF_ERROR(PartitionLoader(*at.store, at.prefix, *manifest, partition, stoppable).LoadEdgeIds(&loaded));
    return std::move(loaded.original_edge_ids);
  };
}

}  // namespace espalier::format
