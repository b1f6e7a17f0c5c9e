// Original IDs index the exported arrays, which cover all nodes or edges of a type. Partitions are loaded one at a
// time; the partition's number and the global IDs of its nodes and edges are stored at their original IDs. All arrays
// are then written under temporary names and renamed at the end, so an export that fails while writing leaves an
// earlier export unchanged.
#include "services/partitioner/mapping_export.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "services/base/make_folder.h"
#include "services/format/partition/partition_files.h"
#include "services/format/source/npy_file.h"

namespace espalier::partitioner {
namespace {

// Owner and global ID of each original ID of one type; -1 for IDs without a node or edge.
struct Mapping {
  std::vector<int32_t> partition_of;
  std::vector<int64_t> global_of;

  void Set(uint64_t original, uint32_t partition, uint64_t global) {
    if (original >= partition_of.size()) {
      partition_of.resize(original + 1, -1);
      global_of.resize(original + 1, -1);
    }
    partition_of[original] = static_cast<int32_t>(partition);
    global_of[original] = static_cast<int64_t>(global);
  }
};

// Returns the limit below which all original edge IDs of a type must be. The input graph may give edges arbitrary IDs,
// and these IDs index the exported arrays. Arrays for larger IDs would consist almost entirely of -1.
uint64_t EdgeIdLimit(uint64_t num_edges) {
  constexpr uint64_t kIdsPerEdge = 64, kLeastLimit = uint64_t{1} << 24;
  return num_edges * kIdsPerEdge + kLeastLimit;
}

// Adds the nodes or edges of one partition. Row k of `original_ids` has global ID `first + k`. InvalidArgument for an
// original ID of `limit` or more.
Status Add(const Tensor& original_ids, uint32_t partition, uint64_t first, uint64_t limit, Mapping* mapping) {
  for (int64_t k = 0; k < original_ids.num_rows(); ++k) {
    const auto original = static_cast<uint64_t>(original_ids.ValueAsInt(k));
    if (original >= limit) {
      return InvalidArgument("original id " + std::to_string(original) +
                             ": mappings are arrays that are indexed by original ids, which must be below " +
                             std::to_string(limit));
    }
    mapping->Set(original, partition, first + static_cast<uint64_t>(k));
  }
  return Status();
}

// Writes files under temporary names, and renames all of them in RenameAll. The destructor deletes files that were not
// renamed. storage::TemporaryFile is not used because it would hold one file descriptor per file.
class NewFiles {
 public:
  explicit NewFiles(const std::string& directory) : start_(directory + "/.partial-" + std::to_string(getpid()) + "-") {}
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;
  ~NewFiles() {
    for (size_t i = 0; i < paths_.size(); ++i) unlink(TemporaryName(i).c_str());
  }

  Status Write(const std::string& path, const Tensor& tensor) {
    paths_.push_back(path);
    return format::WriteNpy(TemporaryName(paths_.size() - 1), tensor).While("for " + path);
  }
  Status RenameAll() {
    for (; !paths_.empty(); paths_.pop_back()) {
      const std::string& path = paths_.back();
      if (std::rename(TemporaryName(paths_.size() - 1).c_str(), path.c_str()) != 0) {
        return FromErrno(errno, "writing " + path);
      }
    }
    return Status();
  }

 private:
  // Temporary names do not contain the names of types, so that they stay short.
  std::string TemporaryName(size_t i) const { return start_ + std::to_string(i); }

  const std::string start_;
  std::vector<std::string> paths_;  // files that are not renamed yet
};

Status Write(Mapping mapping, const std::string& start_of_path, NewFiles* files) {
  RETURN_IF_ERROR(files->Write(start_of_path + ".partition.npy", Tensor::FromVector(std::move(mapping.partition_of))));
  return files->Write(start_of_path + ".global.npy", Tensor::FromVector(std::move(mapping.global_of)));
}

}  // namespace

Status ExportMappings(storage::ObjectStore& store, const std::string& prefix, const format::Manifest& manifest,
                      format::LoadOptions load, const std::string& directory) {
  const graph::PartitionBook& book = manifest.book;
  const graph::GraphSchema& schema = book.schema();
  load.node_columns = false;
  load.edge_columns = false;
  load.original_edge_ids = true;
  std::vector<Mapping> nodes(schema.num_node_types()), edges(schema.num_edge_types());
  for (uint32_t p = 0; p < book.num_partitions(); ++p) {
    ASSIGN_OR_RETURN(const graph::Partition partition,
                     format::LoadPartition(store, prefix, manifest, PartitionId(p), load));
    for (uint16_t type = 0; type < nodes.size(); ++type) {
      const NodeTypeId id(type);
      RETURN_IF_ERROR(
          Add(partition.nodes[type].original_ids, p, book.NodeFirst(id)[p], book.num_nodes(id), &nodes[type])
              .While("exporting node type '" + schema.node_types()[type] + "'"));
    }
    for (uint16_t type = 0; type < edges.size(); ++type) {
      const EdgeTypeId id(type);
      RETURN_IF_ERROR(Add(partition.original_edge_ids[type], p, book.EdgeFirst(id)[p], EdgeIdLimit(book.num_edges(id)),
                          &edges[type])
                          .While("exporting edge type '" + schema.edge_types()[type].Name() + "'"));
    }
  }
  RETURN_IF_ERROR(MakeFolder(directory));
  NewFiles files(directory);
  for (uint16_t type = 0; type < nodes.size(); ++type) {
    RETURN_IF_ERROR(Write(std::move(nodes[type]), directory + "/nodes." + schema.node_types()[type], &files));
  }
  for (uint16_t type = 0; type < edges.size(); ++type) {
    RETURN_IF_ERROR(Write(std::move(edges[type]), directory + "/edges." + schema.edge_types()[type].Name(), &files));
  }
  return files.RenameAll();
}

}  // namespace espalier::partitioner
