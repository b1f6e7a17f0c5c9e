// Reads OGB's binary layout, for example of ogbn-papers100M: arrays in .npz files. Columns have the names of the CSV
// layout (ogb_reader.h): "node-feat", "edge-feat", "node-label". Every other column has the name of its array or, if
// the graph is heterogeneous, of its file without "_dict.npz". Splits are stored as in the CSV layout.
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

// Returns the binary layout of a folder raw/, or nullopt if it has none.
std::optional<OgbTypes> FindOgbBinary(const std::string& raw_directory);

// Reads the schema, nodes and edges into `graph`, which must have none. F32 and F64 labels are converted to I64 if
// each value is an integer from -1e9 to 1e9 or NaN (no label), which becomes -1. An edge type without edges needs no
// array. With a `scratch_folder`, arrays are decompressed into mapped files there.
Status ReadOgbBinary(const std::string& raw_directory, OgbTypes types, graph::SourceGraph& graph,
                     const std::string& scratch_folder = "");

}  // namespace espalier::format
