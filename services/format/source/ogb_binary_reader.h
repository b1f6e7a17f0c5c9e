// OGB's binary layout (ogbn-papers100M's), arrays in .npz files. Names are those of the CSV layout: "node-feat",
// "edge-feat", "node-label", other columns as they are called there. Splits are the CSV layout's.
//
// Homogeneous, node type "node", edge type node:edge:node:
//   raw/data.npz               edge_index [2, m], num_nodes_list [1], num_edges_list [1];
//                              node_feat, edge_feat, node_*, edge_*: columns
//   raw/node-label.npz         optional: node_label [n] or [n, width]
// Heterogeneous:
//   raw/num_nodes_dict.npz     <type> [1]        raw/num_edges_dict.npz   <head>___<relation>___<tail> [1]
//   raw/edge_index_dict.npz    <head>___<relation>___<tail> [2, m]
//   raw/node_*_dict.npz, raw/edge_*_dict.npz     optional: columns by type
//   raw/node-label.npz         optional: labels by type
#pragma once

#include <optional>
#include <string>

#include "services/graph/source_graph.h"

namespace espalier::format {

enum class OgbTypes { kHomogeneous, kHeterogeneous };

// Which binary layout a folder raw/ holds; nullopt for none.
std::optional<OgbTypes> FindOgbBinary(const std::string& raw_directory);

// Fills schema, nodes and edges. Labels that are whole numbers in floating point become I64, NaN (no label) -1. A
// relation of 0 edges needs no array. With a `scratch_folder` arrays are inflated into files there that are mapped.
Status ReadOgbBinary(const std::string& raw_directory, OgbTypes types, graph::SourceGraph& graph,
                     const std::string& scratch_folder = "");

}  // namespace espalier::format
