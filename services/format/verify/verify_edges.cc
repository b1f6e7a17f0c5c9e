// Verifies edges without the source graph. For each edge type and partition, checks the order of the in-edges (time,
// original source id, original edge id), compares edge columns that are copies of node columns with the columns of the
// nodes' owners, and counts out-degrees by global source id. The counts over all partitions are then compared with the
// out-degree columns.
#include <cstring>
#include <tuple>

#include "services/format/verify/verify_parts.h"
#include "services/partition/partition_layout.h"

namespace espalier::format {
namespace {

// The edges of one type in one partition.
struct TypedEdges {
  const LoadedPartitioning& loaded;
  const graph::Partition& partition;
  EdgeTypeId type;
  const std::vector<uint64_t>& original_of_source;
  const Tensor* times;  // null: edges are not ordered by time
  IdReader indptr, indices, original_edge_ids;

  std::string Where(uint64_t position) const {
    return "edge " + std::to_string(loaded.book().EdgeFirst(type)[partition.id.value] + position) + " of '" +
           loaded.book().schema().EdgeType(type).Name() + "' (partition " + std::to_string(partition.id.value) +
           ", position " + std::to_string(position) + ")";
  }
};

void VerifyOrder(const TypedEdges& edges, VerifyReport* report) {
  const uint64_t num_rows = static_cast<uint64_t>(edges.partition.in_edges[edges.type.value].indptr.num_rows()) - 1;
  const auto key = [&](uint64_t k) {
    return std::pair(edges.original_of_source[edges.indices[k]], edges.original_edge_ids[k]);
  };
  for (uint64_t row = 0; row < num_rows; ++row) {
    for (uint64_t k = edges.indptr[row] + 1; k < edges.indptr[row + 1]; ++k) {
      const int by_time = edges.times == nullptr ? 0 : CompareTimes(*edges.times, k - 1, *edges.times, k);
      if (by_time < 0 || (by_time == 0 && key(k - 1) <= key(k))) continue;
      report->Add(edges.Where(k) + " is out of order: expected its destination's in-edges ordered by " +
                  edges.loaded.manifest.in_edge_order);
    }
  }
}

void CountOutDegrees(const TypedEdges& edges, std::vector<uint64_t>* out_degree) {
  const auto num_edges = static_cast<uint64_t>(edges.partition.in_edges[edges.type.value].indices.num_rows());
  for (uint64_t k = 0; k < num_edges; ++k) ++(*out_degree)[edges.indices[k]];
}

// Compares the out-degree columns of an edge type with `out_degree`, which is indexed by the global id of the source.
void VerifyOutDegrees(const LoadedPartitioning& loaded, EdgeTypeId type, const std::vector<uint64_t>& out_degree,
                      VerifyReport* report) {
  const NodeTypeId source = loaded.book().schema().SourceOf(type);
  const std::string name = partition::OutDegreeColumnName(loaded.book().schema().EdgeType(type));
  for (const graph::Partition& partition : loaded.partitions) {
    const auto& columns = partition.nodes[source.value].columns;
    const auto column = columns.find(name);
    if (column == columns.end()) continue;  // CompareNodes reports missing columns
    const uint64_t first = loaded.book().NodeFirst(source)[partition.id.value];
    if (static_cast<uint64_t>(column->second.num_elements()) != partition.nodes[source.value].count) {
      report->Add("column '" + name + "': expected one number per node, found " + column->second.ToString());
      return;
    }
    for (uint64_t local = 0; local < partition.nodes[source.value].count; ++local) {
      const auto stored = static_cast<uint64_t>(column->second.ValueAsInt(static_cast<int64_t>(local)));
      if (stored == out_degree[first + local]) continue;
      report->Add("column '" + name + "' is " + std::to_string(stored) + " for node " +
                  std::to_string(loaded.original_of[source.value][first + local]) + ": expected its out-degree, " +
                  std::to_string(out_degree[first + local]));
    }
  }
}

// A node column, or the original ids of the nodes, over all partitions.
class NodeColumn {
 public:
  NodeColumn(const LoadedPartitioning& loaded, NodeTypeId type, const std::string& name)
      : loaded_(loaded), type_(type), name_(name) {}

  bool exists() const { return is_original_id() || loaded_.partitions[0].nodes[type_.value].columns.contains(name_); }

  // Returns true if row k of `copies` equals the row of the node with global id `global`.
  bool SameRow(const Tensor& copies, uint64_t k, uint64_t global) const {
    const auto position = static_cast<int64_t>(k);
    if (is_original_id()) {
      return static_cast<uint64_t>(copies.ValueAsInt(position)) == loaded_.original_of[type_.value][global];
    }
    const graph::NodeLocation at = loaded_.book().Locate(type_, GlobalNodeId(global));
    const auto& columns = loaded_.partitions[at.partition.value].nodes[type_.value].columns;
    const auto column = columns.find(name_);
    return column != columns.end() && column->second.dtype() == copies.dtype() &&
           column->second.row_bytes() == copies.row_bytes() &&
           std::memcmp(column->second.bytes() + at.local.value * copies.row_bytes(),
                       copies.bytes() + k * copies.row_bytes(), copies.row_bytes()) == 0;
  }

 private:
  bool is_original_id() const { return name_ == graph::kOriginalIdColumn; }

  const LoadedPartitioning& loaded_;
  const NodeTypeId type_;
  const std::string name_;
};

// Verifies that the edge columns of Manifest::source_columns exist and are copies of the node columns of the sources.
void VerifySourceColumns(const TypedEdges& edges, VerifyReport* report) {
  const NodeTypeId source = edges.loaded.book().schema().SourceOf(edges.type);
  const auto num_edges = static_cast<uint64_t>(edges.partition.in_edges[edges.type.value].indices.num_rows());
  for (const std::string& node_column : edges.loaded.manifest.source_columns) {
    const NodeColumn column(edges.loaded, source, node_column);
    if (!column.exists()) continue;  // the column belongs to other node types
    const std::string name = graph::SourceColumnName(node_column);
    const auto found = edges.partition.edge_columns[edges.type.value].find(name);
    if (found == edges.partition.edge_columns[edges.type.value].end()) {
      report->Add("partition " + std::to_string(edges.partition.id.value) + ", edge type '" +
                  edges.loaded.book().schema().EdgeType(edges.type).Name() + "': there is no column '" + name + "'");
      continue;
    }
    const Tensor& copies = found->second;
    for (uint64_t k = 0; k < num_edges; ++k) {
      if (column.SameRow(copies, k, edges.indices[k])) continue;
      report->Add(edges.Where(k) + ": column '" + name + "' is not a copy of the source node's value");
    }
  }
}

template <class T>
int Compare(T a, T b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

}  // namespace

std::string FindTimeColumn(const Manifest& manifest) {
  const std::string start = "time:";
  const size_t end = manifest.in_edge_order.find(",");
  if (!manifest.in_edge_order.starts_with(start) || end == std::string::npos) return "";
  return manifest.in_edge_order.substr(start.size(), end - start.size());
}

int CompareTimes(const Tensor& a, uint64_t i, const Tensor& b, uint64_t j) {
  const auto at = static_cast<int64_t>(i), other = static_cast<int64_t>(j);
  if (IsFloating(a.dtype())) return Compare(a.ValueAsDouble(at), b.ValueAsDouble(other));
  if (a.dtype() == DType::kU64) return Compare(a.values<uint64_t>()[i], b.values<uint64_t>()[j]);
  return Compare(a.ValueAsInt(at), b.ValueAsInt(other));
}

void VerifyEdges(const LoadedPartitioning& loaded, VerifyReport* report) {
  const std::string time_column = FindTimeColumn(loaded.manifest);
  if (loaded.manifest.in_edge_order != (time_column.empty() ? "" : "time:" + time_column + ",") + "source,edge") {
    report->Add("in_edge_order '" + loaded.manifest.in_edge_order +
                "': expected 'source,edge' or 'time:COLUMN,source,edge'");
    return;
  }
  for (uint16_t t = 0; t < loaded.book().schema().num_edge_types(); ++t) {
    const EdgeTypeId type(t);
    const NodeTypeId source = loaded.book().schema().SourceOf(type);
    std::vector<uint64_t> out_degree(loaded.book().num_nodes(source), 0);
    for (const graph::Partition& partition : loaded.partitions) {
      const auto time = partition.edge_columns[t].find(time_column);
      const bool timed =
          time != partition.edge_columns[t].end() && time->second.num_elements() == time->second.num_rows();
      const TypedEdges edges = {.loaded = loaded,
                                .partition = partition,
                                .type = type,
                                .original_of_source = loaded.original_of[source.value],
                                .times = timed ? &time->second : nullptr,
                                .indptr = IdReader(partition.in_edges[t].indptr),
                                .indices = IdReader(partition.in_edges[t].indices),
                                .original_edge_ids = IdReader(partition.original_edge_ids[t])};
      VerifyOrder(edges, report);
      VerifySourceColumns(edges, report);
      CountOutDegrees(edges, &out_degree);
      AddDone(loaded.meter, static_cast<uint64_t>(partition.in_edges[t].indices.num_rows()) * kMeteredBytesOfEdge);
    }
    VerifyOutDegrees(loaded, type, out_degree, report);
  }
}

}  // namespace espalier::format
