#include <filesystem>

#include "services/format/checksum.h"
#include "services/format/mapped_object.h"
#include "services/format/partition_files.h"
#include "services/format/partition_names.h"
#include "services/format/partition_validation.h"
#include "services/format/safetensors.h"
#include "services/storage/file_store.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

class PartitionLoader {
 public:
  PartitionLoader(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                  PartitionId partition, const LoadOptions& options)
      : store_(store), prefix_(prefix), manifest_(manifest), partition_(partition), options_(options) {}

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
    if (options_.original_edge_ids) {
      RETURN_IF_ERROR(Read(entry.original_edge_ids, kEdgeIdsPart, [&](TensorTable* file) {
        return TakeOriginalEdgeIds(manifest_, partition_, file, &partition);
      }));
    }
    return partition;
  }

 private:
  // Maps one file, verifies it, and hands its tensors to `take`. Errors name the file.
  template <class TakeTensors>
  Status Read(const FileEntry& entry, const char* part, const TakeTensors& take) {
    ASSIGN_OR_RETURN(const std::string path, LocalCopy(entry));
    ASSIGN_OR_RETURN(const auto mapped, MappedObject::Open(path, entry.size_bytes));
    if (options_.verify_checksums) RETURN_IF_ERROR(CheckBlocks(entry, mapped->bytes(), path, options_.threads));
    ASSIGN_OR_RETURN(Safetensors content, ReadSafetensors(mapped->bytes(), mapped).While(path));
    RETURN_IF_ERROR(CheckMetadata(content.metadata, part).While(path));
    TensorTable table(std::move(content.tensors));
    return take(&table).While(path);
  }

  // A file of another partition, or another of this one's, may fit by its sizes.
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

  // The path of a local file with the object's bytes: the object itself, or its copy under data_dir.
  Result<std::string> LocalCopy(const FileEntry& entry) {
    const std::string key = storage::JoinKey(prefix_, entry.key);
    if (const std::optional<std::string> path = store_.LocalPath(key)) return *path;
    ASSIGN_OR_RETURN(const storage::ObjectInfo object, store_.Head(key).While(store_.Describe()));
    if (object.size_bytes != entry.size_bytes) {
      return DataLoss(store_.Describe() + ": " + key + " has " + std::to_string(object.size_bytes) +
                      " bytes, expected " + std::to_string(entry.size_bytes));
    }
    if (options_.data_dir.empty()) {
      return FailedPrecondition(store_.Describe() + ": " + key +
                                " is not a local file: a data directory is needed to copy it to");
    }
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::absolute(options_.data_dir, error);
    if (error) return FromErrno(error.value(), "finding " + options_.data_dir);
    storage::FileStore copies(folder.lexically_normal().string());
    const std::string copy_key = storage::JoinKey(manifest_.partition_key, entry.key);
    if (!IsGoodCopy(copies, copy_key, entry)) RETURN_IF_ERROR(Copy(key, entry, copies, copy_key));
    const std::optional<std::string> path = copies.LocalPath(copy_key);
    if (!path) return Unavailable(copies.Describe() + ": " + copy_key + " vanished after it was copied");
    return *path;
  }

  // A copy from before a restart; its checksums are verified like those of any other file.
  bool IsGoodCopy(storage::FileStore& copies, const std::string& copy_key, const FileEntry& entry) const {
    const std::optional<std::string> path = copies.LocalPath(copy_key);
    if (!path) return false;
    const auto mapped = MappedObject::Open(*path, entry.size_bytes);
    return mapped.ok() && CheckBlocks(entry, (*mapped)->bytes(), *path, options_.threads).ok();
  }

  // Block by block: a bad one ends the copy before the rest is fetched.
  Status Copy(const std::string& key, const FileEntry& entry, storage::FileStore& copies, const std::string& copy_key) {
    ASSIGN_OR_RETURN(const std::unique_ptr<storage::ObjectWriter> writer, copies.Put(copy_key));
    for (uint64_t block = 0; block < entry.block_hashes.size(); ++block) {
      ASSIGN_OR_RETURN(const std::string bytes, store_.GetRange(key, BlockRange(entry, block)));
      const auto view = std::as_bytes(std::span(bytes));
      RETURN_IF_ERROR(CheckBlock(entry, block, view, store_.Describe() + ": " + key));
      RETURN_IF_ERROR(writer->Write(view));
    }
    return writer->Commit();
  }

  storage::ObjectStore& store_;
  const std::string& prefix_;
  const Manifest& manifest_;
  const PartitionId partition_;
  const LoadOptions& options_;
};

}  // namespace

Result<Manifest> ReadManifest(storage::ObjectStore& store, const std::string& prefix) {
  const std::string key = storage::JoinKey(prefix, kManifestKey);
  const Result<std::string> text = store.Get(key);
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
                           std::to_string(manifest.partitions.size()));
  }
  return PartitionLoader(store, prefix, manifest, partition, options).Load();
}

}  // namespace espalier::format
