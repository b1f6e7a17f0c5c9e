// Compares nodes and edges of all partitions with the source graph. OrderedSourceEdges sorts the edges of one type by a
// counting sort on the destination and a sort of the in-edges of each destination, independently of the code of
// the partitioner. Then each in-edge of a partition has to match the edge of the source graph at the same position.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "services/format/partition/partition_names.h"
#include "services/format/verify/verify_parts.h"
#include "services/partition/partition_layout.h"

namespace espalier::format {
namespace {

bool SameRow(const Tensor& a, uint64_t i, const Tensor& b, uint64_t j) {
  const size_t row_bytes = a.row_bytes();
  return row_bytes == 0 || std::memcmp(a.bytes() + i * row_bytes, b.bytes() + j * row_bytes, row_bytes) == 0;
}

// Returns true if dtype and shape are equal, apart from the number of rows.
bool SameKind(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape().size() == b.shape().size() && !a.shape().empty() &&
         std::equal(a.shape().begin() + 1, a.shape().end(), b.shape().begin() + 1);
}

// Returns the partition's column `name`, which holds some rows of the source graph's column `source`. Reports a
// violation and returns null if the partition has no such column, or one with another dtype or row shape (SameKind).
const Tensor* FindCounterpart(const std::map<std::string, Tensor>& columns, const std::string& name,
                              const Tensor& source, const std::string& where, VerifyReport* report) {
  const auto found = columns.find(name);
  if (found == columns.end()) {
    report->Add(where + ": there is no column '" + name + "'");
    return nullptr;
  }
  if (SameKind(found->second, source)) return &found->second;
  report->Add(where + ": column '" + name + "' is " + found->second.ToString() + ", the source's is " +
              source.ToString());
  return nullptr;
}

// Returns the scales of column `name`; empty if it has none.
std::vector<float> FindScales(const std::map<std::string, std::vector<float>>& scales, const std::string& name) {
  const auto found = scales.find(name);
  return found == scales.end() ? std::vector<float>() : found->second;
}

void CompareNodeColumns(const LoadedPartitioning& loaded, const graph::Partition& partition, NodeTypeId type,
                        const graph::NodeSet& source, VerifyReport* report) {
  const graph::OwnedNodes& nodes = partition.nodes[type.value];
  const std::string where = "partition " + std::to_string(partition.id.value) + ", node type '" +
                            loaded.book().schema().NodeTypeName(type) + "'";
  const IdReader original_ids(nodes.original_ids);
  for (const auto& [name, column] : source.columns) {
    const Tensor* stored = FindCounterpart(nodes.columns, name, column, where, report);
    if (stored == nullptr) continue;
    if (FindScales(nodes.scales, name) != FindScales(source.scales, name)) {
      report->Add(where + ": the scales of column '" + name + "' differ from the source's");
      continue;
    }
    for (uint64_t local = 0; local < nodes.count; ++local) {
      if (SameRow(*stored, local, column, original_ids[local])) continue;
      report->Add(where + ": column '" + name + "' of node " + std::to_string(original_ids[local]) +
                  " differs from the source's");
    }
  }
  std::vector<std::string> expected;
  for (uint16_t t = 0; t < loaded.book().schema().num_edge_types(); ++t) {
    if (loaded.book().schema().SourceOf(EdgeTypeId(t)) != type) continue;
    expected.push_back(partition::OutDegreeColumnName(loaded.book().schema().EdgeType(EdgeTypeId(t))));
    if (!nodes.columns.contains(expected.back())) {
      report->Add(where + ": there is no column '" + expected.back() + "'");
    }
  }
  for (const auto& [name, column] : nodes.columns) {
    if (source.columns.contains(name) || std::count(expected.begin(), expected.end(), name) > 0) continue;
    report->Add(where + ": column '" + name + "' is not in the source");
  }
}

void CompareSplits(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report) {
  size_t num_expected = 0;
  for (const auto& [name, types] : source.splits) num_expected += types.size();
  if (num_expected != loaded.manifest.splits.size()) {
    report->Add("the partitioning has " + std::to_string(loaded.manifest.splits.size()) + " splits, the source " +
                std::to_string(num_expected));
  }
  for (const SplitEntry& split : loaded.manifest.splits) {
    const auto named = source.splits.find(split.name);
    const bool exists = named != source.splits.end() && named->second.contains(split.node_type);
    if (!exists) {
      report->Add("split '" + split.name + "' is not in the source");
      continue;
    }
    const graph::NodeSplit& expected = named->second.at(split.node_type);
    const std::vector<uint64_t>* parts[] = {&expected.train, &expected.validation, &expected.test};
    for (const graph::SplitPartName part : kSplitParts) {
      if (CollectNodesByOrdinal(loaded, split, part) == *parts[static_cast<size_t>(part)]) continue;
      report->Add("split '" + split.name + "', " + graph::ToString(part) + ": its nodes differ from the source's");
    }
  }
}

// The edges of one type in the source graph, in the order of global edge ids: by global id of the destination, time,
// original id of the source node, and original edge id.
class OrderedSourceEdges {
 public:
  OrderedSourceEdges(const LoadedPartitioning& loaded, const graph::EdgeSet& edges, EdgeTypeId type)
      : edges_(edges),
        sources_(edges.sources),
        destinations_(edges.destinations),
        first_(loaded.book().num_nodes(loaded.book().schema().DestinationOf(type)) + 1, 0),
        rows_(edges.num_edges()) {
    const auto time = edges.columns.find(FindTimeColumn(loaded.manifest));
    if (time != edges.columns.end()) times_ = &time->second;
    const std::vector<uint64_t>& global_of = loaded.global_of[loaded.book().schema().DestinationOf(type).value];
    for (uint64_t row = 0; row < rows_.size(); ++row) ++first_[global_of[destinations_[row]] + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<uint64_t> next(first_.begin(), first_.end() - 1);
    for (uint64_t row = 0; row < rows_.size(); ++row) rows_[next[global_of[destinations_[row]]]++] = row;
    for (size_t node = 0; node + 1 < first_.size(); ++node) SortInEdges(node);
  }

  // Returns the rows of the source graph's edge list that are in-edges of the destination with this global id.
  std::span<const uint64_t> FindRows(uint64_t node) const {
    return std::span(rows_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  uint64_t Source(uint64_t row) const { return sources_[row]; }
  uint64_t OriginalId(uint64_t row) const {
    return edges_.original_ids.empty() ? row : edges_.original_ids.values<uint64_t>()[row];
  }

 private:
  void SortInEdges(size_t node) {
    const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(first_[node]);
    const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(first_[node + 1]);
    std::sort(begin, end, [this](uint64_t a, uint64_t b) {
      const int by_time = times_ == nullptr ? 0 : CompareTimes(*times_, a, *times_, b);
      if (by_time != 0) return by_time < 0;
      return std::tuple(Source(a), OriginalId(a), a) < std::tuple(Source(b), OriginalId(b), b);
    });
  }

  const graph::EdgeSet& edges_;
  IdReader sources_, destinations_;
  const Tensor* times_ = nullptr;
  std::vector<uint64_t> first_;  // index in rows_ of the first in-edge, by global id of the destination
  std::vector<uint64_t> rows_;   // rows of the source graph's edge list
};

// A column of edges that the partition and the source graph both have.
struct ComparedColumn {
  std::string name;
  const Tensor* stored;
  const Tensor* source;
};

// Compares one edge type of one partition with the source.
class EdgeComparison {
 public:
  EdgeComparison(const LoadedPartitioning& loaded, const graph::Partition& partition, const graph::EdgeSet& source,
                 const OrderedSourceEdges& expected, EdgeTypeId type)
      : loaded_(loaded), partition_(partition), source_(source), expected_(expected), type_(type) {}

  void Run(VerifyReport* report) const {
    const graph::GraphSchema& schema = loaded_.book().schema();
    const NodeTypeId destination = schema.DestinationOf(type_);
    const graph::InEdges& in_edges = partition_.in_edges[type_.value];
    const std::string where =
        "partition " + std::to_string(partition_.id.value) + ", edge type '" + schema.EdgeType(type_).Name() + "'";
    const std::vector<ComparedColumn> columns = PairColumns(where, report);
    const IdReader indptr(in_edges.indptr);
    for (uint64_t local = 0; local < loaded_.book().NumOwnedNodes(partition_.id, destination); ++local) {
      const uint64_t global = loaded_.book().NodeFirst(destination)[partition_.id.value] + local;
      const std::span<const uint64_t> rows = expected_.FindRows(global);
      const std::string node = " node " + std::to_string(loaded_.original_of[destination.value][global]);
      if (rows.size() != indptr[local + 1] - indptr[local]) {
        report->Add(where + ":" + node + " has " + std::to_string(indptr[local + 1] - indptr[local]) +
                    " in-edges, the source graph has " + std::to_string(rows.size()));
        continue;
      }
      for (uint64_t k = 0; k < rows.size(); ++k) CompareEdge(indptr[local] + k, rows[k], columns, where + node, report);
    }
  }

 private:
  void CompareEdge(uint64_t position, uint64_t row, const std::vector<ComparedColumn>& columns,
                   const std::string& where, VerifyReport* report) const {
    const IdReader indices(partition_.in_edges[type_.value].indices);
    const IdReader original_edge_ids(partition_.original_edge_ids[type_.value]);
    const NodeTypeId source_type = loaded_.book().schema().SourceOf(type_);
    const uint64_t source = loaded_.original_of[source_type.value][indices[position]];
    if (source != expected_.Source(row) || original_edge_ids[position] != expected_.OriginalId(row)) {
      report->Add(where + ": position " + std::to_string(position) + " holds edge " +
                  std::to_string(original_edge_ids[position]) + " from node " + std::to_string(source) +
                  ", expected edge " + std::to_string(expected_.OriginalId(row)) + " from node " +
                  std::to_string(expected_.Source(row)));
      return;
    }
    for (const auto& [name, stored, column] : columns) {
      if (SameRow(*stored, position, *column, row)) continue;
      report->Add(where + ": column '" + name + "' of edge " + std::to_string(expected_.OriginalId(row)) +
                  " differs from the source's");
    }
  }

  // Returns the columns to compare.
  std::vector<ComparedColumn> PairColumns(const std::string& where, VerifyReport* report) const {
    std::vector<ComparedColumn> columns;
    const auto& stored = partition_.edge_columns[type_.value];
    for (const auto& [name, column] : source_.columns) {
      const Tensor* counterpart = FindCounterpart(stored, name, column, where, report);
      if (counterpart != nullptr) columns.push_back({name, counterpart, &column});
    }
    for (const auto& [name, column] : stored) {
      if (IsCopyOfNodeColumn(name)) continue;  // VerifyEdges compares it
      if (!source_.columns.contains(name)) report->Add(where + ": column '" + name + "' is not in the source");
    }
    return columns;
  }

  // Returns true for a column that partitioning copied from the edges' source nodes.
  bool IsCopyOfNodeColumn(const std::string& name) const {
    const std::vector<std::string>& source_columns = loaded_.manifest.source_columns;
    return std::any_of(source_columns.begin(), source_columns.end(),
                       [&](const std::string& column) { return name == graph::SourceColumnName(column); });
  }

  const LoadedPartitioning& loaded_;
  const graph::Partition& partition_;
  const graph::EdgeSet& source_;
  const OrderedSourceEdges& expected_;
  EdgeTypeId type_;
};

}  // namespace

bool CompareNodes(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report) {
  const graph::PartitionBook& book = loaded.book();
  if (!(book.schema() == source.schema)) {
    report->Add("the partitioning's node and edge types differ from the source's");
    return false;
  }
  bool comparable = true;
  for (uint16_t t = 0; t < book.schema().num_node_types(); ++t) {
    if (book.num_nodes(NodeTypeId(t)) == source.nodes[t].count) continue;
    report->Add("node type '" + book.schema().NodeTypeName(NodeTypeId(t)) + "' has " +
                std::to_string(book.num_nodes(NodeTypeId(t))) + " nodes, the source " +
                std::to_string(source.nodes[t].count));
    comparable = false;
  }
  if (!comparable) return false;
  for (const graph::Partition& partition : loaded.partitions) {
    for (uint16_t t = 0; t < book.schema().num_node_types(); ++t) {
      CompareNodeColumns(loaded, partition, NodeTypeId(t), source.nodes[t], report);
    }
  }
  CompareSplits(loaded, source, report);
  return true;
}

void CompareEdges(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report) {
  for (uint16_t t = 0; t < loaded.book().schema().num_edge_types(); ++t) {
    const OrderedSourceEdges expected(loaded, source.edges[t], EdgeTypeId(t));
    for (const graph::Partition& partition : loaded.partitions) {
      EdgeComparison(loaded, partition, source.edges[t], expected, EdgeTypeId(t)).Run(report);
      AddDone(loaded.meter, static_cast<uint64_t>(partition.in_edges[t].indices.num_rows()) * kMeteredBytesOfEdge);
    }
  }
}

}  // namespace espalier::format
