// Each of the four files of a partition is a safetensors file that is hashed while it is written, so that the data is
// read once. Each attempt writes into a folder of its own. If several attempts commit, CommitManifest decides between
// them with PutIfAbsent.
#include <algorithm>

#include "services/format/files/checksum.h"
#include "services/format/files/manifest_text.h"
#include "services/format/files/safetensors.h"
#include "services/format/partition/partition_files.h"
#include "services/format/partition/partition_names.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

using Tensors = std::map<std::string, Tensor>;

// Checks that the partition has an entry for every type. Does not check values: LoadPartition validates them.
Status CheckStructure(const graph::PartitionBook& book, const graph::Partition& partition) {
  const size_t num_node_types = book.schema().num_node_types(), num_edge_types = book.schema().num_edge_types();
  if (partition.id.value >= book.num_partitions())
    return InvalidArgument("the partition book has only " + std::to_string(book.num_partitions()) + " partitions");
  if (partition.nodes.size() != num_node_types || partition.directory.size() != num_node_types) {
    return InvalidArgument("expected nodes and directory of " + std::to_string(num_node_types) + " node types");
  }
  if (partition.in_edges.size() != num_edge_types || partition.original_edge_ids.size() != num_edge_types ||
      partition.edge_columns.size() != num_edge_types) {
    return InvalidArgument("expected in-edges, original edge ids and columns of " + std::to_string(num_edge_types) +
                           " edge types");
  }
  for (const auto& [name, types] : partition.splits) {
    for (const auto& [type, parts] : types) {
      if (type >= num_node_types || parts.size() != std::size(kSplitParts)) {
        return InvalidArgument("split '" + name + "': expected three parts of an existing node type");
      }
    }
  }
  for (const auto& [name, types] : partition.edge_splits) {
    for (const auto& [type, parts] : types) {
      if (type >= num_edge_types || parts.size() != std::size(kSplitParts)) {
        return InvalidArgument("split '" + name + "': expected three parts of an existing edge type");
      }
    }
  }
  return Status();
}

Tensors GraphTensors(const graph::GraphSchema& schema, const graph::Partition& partition) {
  Tensors tensors;
  for (size_t type = 0; type < partition.in_edges.size(); ++type) {
    tensors[IndptrName(schema.edge_types()[type])] = partition.in_edges[type].indptr;
    tensors[IndicesName(schema.edge_types()[type])] = partition.in_edges[type].indices;
  }
  for (size_t type = 0; type < partition.nodes.size(); ++type) {
    tensors[OriginalIdsName(schema.node_types()[type])] = partition.nodes[type].original_ids;
    tensors[DirectoryName(schema.node_types()[type])] = partition.directory[type].global_ids;
  }
  for (const auto& [name, types] : partition.splits) {
    for (const auto& [type, parts] : types) {
      for (const graph::SplitPartName part : kSplitParts) {
        const graph::SplitPart& ids = parts[static_cast<size_t>(part)];
        tensors[SplitLocalIdsName(name, schema.node_types()[type], part)] = ids.local_ids;
        tensors[SplitOrdinalsName(name, schema.node_types()[type], part)] = ids.ordinals;
      }
    }
  }
  for (const auto& [name, types] : partition.edge_splits) {
    for (const auto& [type, parts] : types) {
      for (const graph::SplitPartName part : kSplitParts) {
        const graph::EdgeSplitPart& edges = parts[static_cast<size_t>(part)];
        tensors[EdgeSplitName(name, schema.edge_types()[type], part, "sources")] = edges.sources;
        tensors[EdgeSplitName(name, schema.edge_types()[type], part, "destinations")] = edges.destinations;
        tensors[EdgeSplitName(name, schema.edge_types()[type], part, "ordinals")] = edges.ordinals;
        if (edges.positions.empty()) continue;
        tensors[EdgeSplitName(name, schema.edge_types()[type], part, "positions")] = edges.positions;
      }
    }
  }
  return tensors;
}

Tensors NodeColumnTensors(const graph::GraphSchema& schema, const graph::Partition& partition) {
  Tensors tensors;
  for (size_t type = 0; type < partition.nodes.size(); ++type) {
    for (const auto& [name, column] : partition.nodes[type].columns) {
      tensors[ColumnName(schema.node_types()[type], name)] = column;
    }
  }
  return tensors;
}

Tensors EdgeColumnTensors(const graph::GraphSchema& schema, const graph::Partition& partition) {
  Tensors tensors;
  for (size_t type = 0; type < partition.edge_columns.size(); ++type) {
    for (const auto& [name, column] : partition.edge_columns[type]) {
      tensors[ColumnName(schema.edge_types()[type].Name(), name)] = column;
    }
  }
  return tensors;
}

Tensors EdgeIdTensors(const graph::GraphSchema& schema, const graph::Partition& partition) {
  Tensors tensors;
  for (size_t type = 0; type < partition.original_edge_ids.size(); ++type) {
    tensors[OriginalEdgeIdsName(schema.edge_types()[type])] = partition.original_edge_ids[type];
  }
  return tensors;
}

// Forwards bytes in chunks and checks for a stop before each chunk, because a column may have many gigabytes.
class StoppableWriter final : public storage::ObjectWriter {
 public:
  StoppableWriter(storage::ObjectWriter& to, const std::function<bool()>& stop_requested)
      : to_(to), stop_requested_(stop_requested) {}

  Status Write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      if (stop_requested_ && stop_requested_()) return Cancelled("asked to stop");
      const std::span<const std::byte> chunk = bytes.first(std::min(bytes.size(), kChunkBytes));
      RETURN_IF_ERROR(to_.Write(chunk));
      bytes = bytes.subspan(chunk.size());
    }
    return Status();
  }
  Status Commit() override { return to_.Commit(); }

 private:
  static constexpr size_t kChunkBytes = size_t{8} << 20;

  storage::ObjectWriter& to_;                    // must outlive this object
  const std::function<bool()>& stop_requested_;  // must outlive this object
};

Result<FileEntry> WritePart(storage::ObjectStore& store, const std::string& prefix, const std::string& attempt,
                            PartitionId partition, const char* part, Tensors tensors,
                            const std::function<bool()>& stop_requested) {
  const std::string key = PartitionFileKey(attempt, partition, part);
  const Safetensors content = {.tensors = std::move(tensors),
                               .metadata = {{"espalier.format", kPartitionFormatName},
                                            {"espalier.format_version", std::to_string(kPartitionFormatVersion)},
                                            {"espalier.part", part},
                                            {"espalier.partition", std::to_string(partition.value)}}};
  ASSIGN_OR_RETURN(std::unique_ptr<storage::ObjectWriter> object, store.Put(storage::JoinKey(prefix, key)));
  HashingWriter writer(std::move(object));
  StoppableWriter stoppable(writer, stop_requested);
  RETURN_IF_ERROR(WriteSafetensors(content, stoppable));
  RETURN_IF_ERROR(stoppable.Commit());
  return writer.Entry(key);
}

}  // namespace

Result<PartitionEntry> WritePartition(storage::ObjectStore& store, const std::string& prefix,
                                      const std::string& attempt, const graph::PartitionBook& book,
                                      const graph::Partition& partition, const std::function<bool()>& stop_requested) {
  RETURN_IF_ERROR(CheckStructure(book, partition).While("partition " + std::to_string(partition.id.value)));
  const auto write = [&](const char* part, Tensors tensors) {
    return WritePart(store, prefix, attempt, partition.id, part, std::move(tensors), stop_requested);
  };
  const graph::GraphSchema& schema = book.schema();
  PartitionEntry entry;
  ASSIGN_OR_RETURN(entry.graph, write(kGraphPart, GraphTensors(schema, partition)));
  ASSIGN_OR_RETURN(entry.node_columns, write(kNodeColumnsPart, NodeColumnTensors(schema, partition)));
  ASSIGN_OR_RETURN(entry.edge_columns, write(kEdgeColumnsPart, EdgeColumnTensors(schema, partition)));
  ASSIGN_OR_RETURN(entry.original_edge_ids, write(kEdgeIdsPart, EdgeIdTensors(schema, partition)));
  return entry;
}

Status CommitManifest(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest) {
  const std::string text = ManifestToJson(manifest);
  // A manifest that cannot be read back must not be committed.
  RETURN_IF_ERROR(CheckManifestSize(text));
  RETURN_IF_ERROR(ManifestFromJson(text).status().While("the manifest to be written"));
  return store.PutIfAbsent(storage::JoinKey(prefix, kManifestKey), std::as_bytes(std::span(text)));
}

}  // namespace espalier::format
