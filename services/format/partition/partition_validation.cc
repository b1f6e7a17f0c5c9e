// Shapes and dtypes follow from the manifest and the partition book, with two exceptions: original ids and the
// directory may be U32 or U64, and the arrays of a split part may have any length that is the same for all of them.
// indptr and the positions of edge splits are U32 if the partition has fewer than 2^32 edges of the type, otherwise
// U64; indices and the sources of edge splits are U32 if the whole graph has fewer than 2^32 nodes of the source type,
// otherwise U64. Arrays whose values serve as indices are scanned in parallel for order and range
// (graph::FirstViolation). CheckAllTaken at the end rejects files with tensors that the manifest does not describe.
#include "services/format/partition/partition_validation.h"

#include <limits>

#include "services/format/partition/partition_names.h"
#include "services/graph/first_violation.h"
#include "services/graph/id_values.h"
#include "services/partition/partition_layout.h"

namespace espalier::format {
namespace {

constexpr uint64_t kFirst64BitCount = uint64_t{1} << 32;

DType IdDTypeFor(uint64_t count) { return count < kFirst64BitCount ? DType::kU32 : DType::kU64; }

// Returns "[i] is x" for messages.
std::string ValueAt(const Tensor& tensor, int64_t i) {
  return "[" + std::to_string(i) + "] is " + std::to_string(static_cast<uint64_t>(tensor.ValueAsInt(i)));
}

// Takes ids: U32 or U64 [count].
Result<Tensor> TakeIds(TensorTable* file, const std::string& name, uint64_t count) {
  ASSIGN_OR_RETURN(Tensor ids, file->Take(name));
  if (ids.dtype() != DType::kU32 && ids.dtype() != DType::kU64) {
    return DataLoss(name + ": expected U32 or U64, found " + ids.ToString());
  }
  if (ids.shape().size() != 1 || static_cast<uint64_t>(ids.num_rows()) != count) {
    return DataLoss(name + ": expected [" + std::to_string(count) + "], found " + ids.ToString());
  }
  return ids;
}

Result<Tensor> TakeIds(TensorTable* file, const std::string& name, uint64_t count, DType dtype) {
  ASSIGN_OR_RETURN(Tensor ids, TakeIds(file, name, count));
  if (ids.dtype() == dtype) return ids;
  return DataLoss(name + ": expected " + ToString(dtype) + ", found " + ids.ToString());
}

Status CheckBelow(const std::string& name, const Tensor& ids, uint64_t limit, int threads) {
  const std::optional<int64_t> bad = graph::VisitIds(ids, [&](auto values) {
    return graph::FirstViolation(threads, ids.num_rows(), kCheapGrain,
                                 [&](int64_t i) { return graph::ToId(values[static_cast<size_t>(i)]) >= limit; });
  });
  if (!bad) return Status();
  return DataLoss(name + ValueAt(ids, *bad) + ", expected less than " + std::to_string(limit));
}

enum class Order { kAscending, kStrictlyAscending };

Status CheckOrder(const std::string& name, const Tensor& ids, Order order, int threads) {
  const std::optional<int64_t> bad = graph::VisitIds(ids, [&](auto values) {
    return graph::FirstViolation(threads, ids.num_rows() - 1, kCheapGrain, [&](int64_t i) {
      const auto at = values[static_cast<size_t>(i)], next = values[static_cast<size_t>(i) + 1];
      return order == Order::kAscending ? at > next : at >= next;
    });
  });
  if (!bad) return Status();
  return DataLoss(
      name + ValueAt(ids, *bad + 1) + " after " + std::to_string(static_cast<uint64_t>(ids.ValueAsInt(*bad))) +
      (order == Order::kAscending ? ", expected ascending values" : ", expected strictly ascending values"));
}

Status TakeInEdges(const Manifest& manifest, PartitionId partition, EdgeTypeId type, int threads, TensorTable* file,
                   graph::InEdges* to) {
  const graph::PartitionBook& book = manifest.book;
  const graph::CanonicalEdgeType& name = book.schema().EdgeType(type);
  const uint64_t num_edges = book.NumOwnedEdges(partition, type);
  const uint64_t num_owned = book.NumOwnedNodes(partition, book.schema().DestinationOf(type));
  const uint64_t num_sources = book.num_nodes(book.schema().SourceOf(type));
  const std::string indptr_name = IndptrName(name), indices_name = IndicesName(name);

  ASSIGN_OR_RETURN(to->indptr, TakeIds(file, indptr_name, num_owned + 1, IdDTypeFor(num_edges)));
  if (to->indptr.ValueAsInt(0) != 0) return DataLoss(indptr_name + ValueAt(to->indptr, 0) + ", expected 0");
  RETURN_IF_ERROR(CheckOrder(indptr_name, to->indptr, Order::kAscending, threads));
  const auto last = static_cast<int64_t>(num_owned);
  if (static_cast<uint64_t>(to->indptr.ValueAsInt(last)) != num_edges) {
    return DataLoss(indptr_name + ValueAt(to->indptr, last) + ", expected the number of edges, " +
                    std::to_string(num_edges));
  }
  ASSIGN_OR_RETURN(to->indices, TakeIds(file, indices_name, num_edges, IdDTypeFor(num_sources)));
  return CheckBelow(indices_name, to->indices, num_sources, threads);
}

Status TakeNodes(const Manifest& manifest, PartitionId partition, NodeTypeId type, int threads, TensorTable* file,
                 graph::OwnedNodes* nodes, graph::DirectorySlice* directory) {
  const uint64_t num_nodes = manifest.book.num_nodes(type);
  const std::string& type_name = manifest.book.schema().NodeTypeName(type);
  nodes->count = manifest.book.NumOwnedNodes(partition, type);
  const std::string ids_name = OriginalIdsName(type_name), directory_name = DirectoryName(type_name);
  ASSIGN_OR_RETURN(nodes->original_ids, TakeIds(file, ids_name, nodes->count));
  RETURN_IF_ERROR(CheckOrder(ids_name, nodes->original_ids, Order::kStrictlyAscending, threads));
  RETURN_IF_ERROR(CheckBelow(ids_name, nodes->original_ids, num_nodes, threads));

  const partition::DirectoryRange range =
      partition::DirectoryRangeFor(num_nodes, manifest.book.num_partitions(), partition);
  directory->first = range.first;
  ASSIGN_OR_RETURN(directory->global_ids, TakeIds(file, directory_name, range.last - range.first));
  return CheckBelow(directory_name, directory->global_ids, num_nodes, threads);
}

// Takes one part of a split. The manifest does not have the number of its nodes in this partition; local ids and
// ordinals must have the same length.
Result<graph::SplitPart> TakeSplitPart(const std::string& local_ids_name, const std::string& ordinals_name,
                                       uint64_t num_owned, uint64_t total, int threads, TensorTable* file) {
  graph::SplitPart part{.total = total, .local_ids = {}, .ordinals = {}};
  ASSIGN_OR_RETURN(part.local_ids, file->Take(local_ids_name));
  if (part.local_ids.dtype() != DType::kU32 || part.local_ids.shape().size() != 1) {
    return DataLoss(local_ids_name + ": expected U32 of one dimension, found " + part.local_ids.ToString());
  }
  const auto count = static_cast<uint64_t>(part.local_ids.num_rows());
  ASSIGN_OR_RETURN(part.ordinals, TakeIds(file, ordinals_name, count, DType::kU64));
  RETURN_IF_ERROR(CheckOrder(local_ids_name, part.local_ids, Order::kStrictlyAscending, threads));
  RETURN_IF_ERROR(CheckBelow(local_ids_name, part.local_ids, num_owned, threads));
  RETURN_IF_ERROR(CheckOrder(ordinals_name, part.ordinals, Order::kStrictlyAscending, threads));
  RETURN_IF_ERROR(CheckBelow(ordinals_name, part.ordinals, total, threads));
  return part;
}

Status TakeSplit(const Manifest& manifest, PartitionId partition, const SplitEntry& split, int threads,
                 TensorTable* file, std::vector<graph::SplitPart>* parts) {
  const std::string& type_name = manifest.book.schema().NodeTypeName(NodeTypeId(split.node_type));
  const uint64_t num_owned = manifest.book.NumOwnedNodes(partition, NodeTypeId(split.node_type));
  const uint64_t totals[] = {split.train, split.validation, split.test};
  for (const graph::SplitPartName part : kSplitParts) {
    ASSIGN_OR_RETURN(parts->emplace_back(), TakeSplitPart(SplitLocalIdsName(split.name, type_name, part),
                                                          SplitOrdinalsName(split.name, type_name, part), num_owned,
                                                          totals[static_cast<size_t>(part)], threads, file));
  }
  return Status();
}

// Takes one part of a split of edges. The manifest does not have the number of its edges in this partition; all arrays
// must have the same length.
Result<graph::EdgeSplitPart> TakeEdgeSplitPart(const graph::PartitionBook& book, PartitionId partition,
                                               const EdgeSplitEntry& split, graph::SplitPartName part_name, int threads,
                                               TensorTable* file) {
  const EdgeTypeId type(split.edge_type);
  const graph::CanonicalEdgeType& type_name = book.schema().EdgeType(type);
  const uint64_t num_sources = book.num_nodes(book.schema().SourceOf(type));
  const uint64_t num_owned = book.NumOwnedNodes(partition, book.schema().DestinationOf(type));
  const auto name_of = [&](const char* what) { return EdgeSplitName(split.name, type_name, part_name, what); };
  const uint64_t totals[] = {split.train, split.validation, split.test};
  graph::EdgeSplitPart part{
      .total = totals[static_cast<size_t>(part_name)], .sources = {}, .destinations = {}, .ordinals = {}};
  ASSIGN_OR_RETURN(part.destinations, file->Take(name_of("destinations")));
  if (part.destinations.dtype() != DType::kU32 || part.destinations.shape().size() != 1) {
    return DataLoss(name_of("destinations") + ": expected U32 of one dimension, found " + part.destinations.ToString());
  }
  const auto count = static_cast<uint64_t>(part.destinations.num_rows());
  ASSIGN_OR_RETURN(part.sources, TakeIds(file, name_of("sources"), count, IdDTypeFor(num_sources)));
  ASSIGN_OR_RETURN(part.ordinals, TakeIds(file, name_of("ordinals"), count, DType::kU64));
  RETURN_IF_ERROR(CheckBelow(name_of("destinations"), part.destinations, num_owned, threads));
  RETURN_IF_ERROR(CheckBelow(name_of("sources"), part.sources, num_sources, threads));
  RETURN_IF_ERROR(CheckOrder(name_of("ordinals"), part.ordinals, Order::kStrictlyAscending, threads));
  RETURN_IF_ERROR(CheckBelow(name_of("ordinals"), part.ordinals, part.total, threads));
  const std::string positions_name = name_of("positions");
  if (!file->Has(positions_name)) return part;
  const uint64_t num_edges = book.NumOwnedEdges(partition, type);
  ASSIGN_OR_RETURN(part.positions, TakeIds(file, positions_name, count, IdDTypeFor(num_edges)));
  // The position num_edges is valid: it denotes any edge between the nodes of the pair.
  RETURN_IF_ERROR(CheckBelow(positions_name, part.positions, num_edges + 1, threads));
  return part;
}

Result<Tensor> TakeColumn(const std::string& name, const ColumnEntry& entry, uint64_t num_rows, int threads,
                          TensorTable* file) {
  ASSIGN_OR_RETURN(Tensor column, file->Take(name));
  std::vector<int64_t> shape = {static_cast<int64_t>(num_rows)};
  shape.insert(shape.end(), entry.row_shape.begin(), entry.row_shape.end());
  if (column.dtype() != entry.dtype || column.shape() != shape) {
    return DataLoss(name + ": expected " + ToString(entry.dtype) + " with " + std::to_string(num_rows) +
                    " rows of the manifest's row_shape, found " + column.ToString());
  }
  if (column.dtype() != DType::kBool) return column;
  // Reading a byte other than 0 or 1 as a bool is undefined behavior.
  const std::optional<int64_t> bad = graph::FirstViolation(threads, column.num_elements(), kCheapGrain, [&](int64_t i) {
    return static_cast<uint8_t>(column.bytes()[i]) > 1;
  });
  if (bad) return DataLoss(name + ValueAt(column, *bad) + ", expected 0 or 1");
  return column;
}

Status TakeColumns(const std::string& type_name, const std::vector<ColumnEntry>& entries, uint64_t num_rows,
                   int threads, TensorTable* file, std::map<std::string, Tensor>* columns) {
  for (const ColumnEntry& entry : entries) {
    ASSIGN_OR_RETURN((*columns)[entry.name],
                     TakeColumn(ColumnName(type_name, entry.name), entry, num_rows, threads, file));
  }
  return Status();
}

}  // namespace

Result<Tensor> TensorTable::Take(const std::string& name) {
  auto taken = tensors_.extract(name);
  if (taken.empty()) return DataLoss("there is no tensor '" + name + "'");
  return std::move(taken.mapped());
}

Status TensorTable::CheckAllTaken() const {
  if (tensors_.empty()) return Status();
  return DataLoss("unexpected tensor '" + tensors_.begin()->first + "'");
}

Status TakeGraph(const Manifest& manifest, PartitionId partition, int threads, TensorTable* file,
                 graph::Partition* to) {
  const graph::GraphSchema& schema = manifest.book.schema();
  to->nodes.resize(schema.num_node_types());
  to->directory.resize(schema.num_node_types());
  to->in_edges.resize(schema.num_edge_types());
  for (uint16_t type = 0; type < schema.num_node_types(); ++type) {
    RETURN_IF_ERROR(
        TakeNodes(manifest, partition, NodeTypeId(type), threads, file, &to->nodes[type], &to->directory[type]));
  }
  for (uint16_t type = 0; type < schema.num_edge_types(); ++type) {
    RETURN_IF_ERROR(TakeInEdges(manifest, partition, EdgeTypeId(type), threads, file, &to->in_edges[type]));
  }
  for (const SplitEntry& split : manifest.splits) {
    RETURN_IF_ERROR(TakeSplit(manifest, partition, split, threads, file, &to->splits[split.name][split.node_type]));
  }
  for (const EdgeSplitEntry& split : manifest.edge_splits) {
    std::vector<graph::EdgeSplitPart>& parts = to->edge_splits[split.name][split.edge_type];
    for (const graph::SplitPartName part : kSplitParts) {
      ASSIGN_OR_RETURN(parts.emplace_back(), TakeEdgeSplitPart(manifest.book, partition, split, part, threads, file));
    }
  }
  return file->CheckAllTaken();
}

Status TakeNodeColumns(const Manifest& manifest, PartitionId partition, int threads, TensorTable* file,
                       graph::Partition* to) {
  for (uint16_t type = 0; type < to->nodes.size(); ++type) {
    RETURN_IF_ERROR(TakeColumns(manifest.book.schema().NodeTypeName(NodeTypeId(type)), manifest.node_columns[type],
                                manifest.book.NumOwnedNodes(partition, NodeTypeId(type)), threads, file,
                                &to->nodes[type].columns));
    for (const ColumnEntry& entry : manifest.node_columns[type]) {
      if (!entry.scales.empty()) to->nodes[type].scales[entry.name] = entry.scales;
    }
  }
  return file->CheckAllTaken();
}

Status TakeEdgeColumns(const Manifest& manifest, PartitionId partition, int threads, TensorTable* file,
                       graph::Partition* to) {
  for (uint16_t type = 0; type < to->edge_columns.size(); ++type) {
    RETURN_IF_ERROR(TakeColumns(manifest.book.schema().EdgeType(EdgeTypeId(type)).Name(), manifest.edge_columns[type],
                                manifest.book.NumOwnedEdges(partition, EdgeTypeId(type)), threads, file,
                                &to->edge_columns[type]));
  }
  return file->CheckAllTaken();
}

Status TakeOriginalEdgeIds(const Manifest& manifest, PartitionId partition, TensorTable* file, graph::Partition* to) {
  for (uint16_t type = 0; type < to->original_edge_ids.size(); ++type) {
    const std::string name = OriginalEdgeIdsName(manifest.book.schema().EdgeType(EdgeTypeId(type)));
    ASSIGN_OR_RETURN(to->original_edge_ids[type],
                     TakeIds(file, name, manifest.book.NumOwnedEdges(partition, EdgeTypeId(type))));
  }
  return file->CheckAllTaken();
}

}  // namespace espalier::format
