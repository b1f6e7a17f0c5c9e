// Keys of the files of a partitioning and names of their tensors (docs/partition-format.md).
#pragma once

#include <string>

#include "services/graph/partition.h"

namespace espalier::format {

inline constexpr const char* kManifestKey = "manifest.json";

// Returns the key of a file: "attempt-1/part-00003/graph.safetensors". `part` is one of the four constants below.
std::string PartitionFileKey(const std::string& attempt, PartitionId partition, const std::string& part);
inline constexpr const char* kGraphPart = "graph";
inline constexpr const char* kNodeColumnsPart = "nodes";
inline constexpr const char* kEdgeColumnsPart = "edges";
inline constexpr const char* kEdgeIdsPart = "edge_ids";

// The functions below return names of tensors, whose components are separated by '/'. Names of types, columns and
// splits do not contain '/'.
std::string IndptrName(const graph::CanonicalEdgeType& type);
std::string IndicesName(const graph::CanonicalEdgeType& type);
std::string OriginalIdsName(const std::string& node_type);
std::string DirectoryName(const std::string& node_type);
std::string SplitLocalIdsName(const std::string& split, const std::string& node_type, graph::SplitPartName part);
std::string SplitOrdinalsName(const std::string& split, const std::string& node_type, graph::SplitPartName part);
// `what` is "sources", "destinations", "ordinals" or "positions"; a file may lack the tensor of positions.
std::string EdgeSplitName(const std::string& split, const graph::CanonicalEdgeType& type, graph::SplitPartName part,
                          const char* what);
// `type` is the name of a node type or the canonical name of an edge type.
std::string ColumnName(const std::string& type, const std::string& column);
std::string OriginalEdgeIdsName(const graph::CanonicalEdgeType& type);

inline constexpr graph::SplitPartName kSplitParts[] = {graph::SplitPartName::kTrain, graph::SplitPartName::kValidation,
                                                       graph::SplitPartName::kTest};

}  // namespace espalier::format
