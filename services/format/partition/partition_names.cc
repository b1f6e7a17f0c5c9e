#include "services/format/partition/partition_names.h"

namespace espalier::format {
namespace {

std::string SplitName(const std::string& split, const std::string& node_type, graph::SplitPartName part,
                      const char* what) {
  return "split/" + split + "/" + node_type + "/" + graph::ToString(part) + "/" + what;
}

}  // namespace

std::string PartitionFileKey(const std::string& attempt, PartitionId partition, const std::string& part) {
  std::string number = std::to_string(partition.value);
  if (number.size() < 5) number.insert(0, 5 - number.size(), '0');
  return attempt + "/part-" + number + "/" + part + ".safetensors";
}

std::string IndptrName(const graph::CanonicalEdgeType& type) { return "in_edges/" + type.Name() + "/indptr"; }
std::string IndicesName(const graph::CanonicalEdgeType& type) { return "in_edges/" + type.Name() + "/indices"; }
std::string OriginalIdsName(const std::string& node_type) { return "original_ids/" + node_type; }
std::string DirectoryName(const std::string& node_type) { return "directory/" + node_type; }

std::string SplitLocalIdsName(const std::string& split, const std::string& node_type, graph::SplitPartName part) {
  return SplitName(split, node_type, part, "local_ids");
}
std::string SplitOrdinalsName(const std::string& split, const std::string& node_type, graph::SplitPartName part) {
  return SplitName(split, node_type, part, "ordinals");
}
std::string EdgeSplitName(const std::string& split, const graph::CanonicalEdgeType& type, graph::SplitPartName part,
                          const char* what) {
  return "edge_split/" + split + "/" + type.Name() + "/" + graph::ToString(part) + "/" + what;
}

std::string ColumnName(const std::string& type, const std::string& column) { return "columns/" + type + "/" + column; }
std::string OriginalEdgeIdsName(const graph::CanonicalEdgeType& type) { return "original_edge_ids/" + type.Name(); }

}  // namespace espalier::format
