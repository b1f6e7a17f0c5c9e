// Reads data sets of OGB that consist of one graph: the binary layout (ogb_binary_reader.h) if its files exist,
// otherwise raw CSV files without header lines, each of them plain or gzip (".csv.gz").
//
// Homogeneous, node type "node", edge type node:edge:node:
//   raw/edge.csv               source,destination
//   raw/num-node-list.csv      one number        raw/num-edge-list.csv   one number
//   raw/node-feat.csv          optional, F32 [n, width] column "node-feat"; edge-feat.csv likewise
//   raw/node-label.csv         optional, column "node-label", [n] or [n, width], I64 if all are integers, else F32
//   raw/node_*.csv, edge_*.csv  optional, more columns, named like the file without ".csv"
//   split/<name>/{train,valid,test}.csv   one node id per line
// Heterogeneous:
//   raw/num-node-dict.csv      a line of type names, then a line with their numbers of nodes
//   raw/triplet-type-list.csv  head,relation,tail per line
//   raw/relations/<head>___<relation>___<tail>/{edge,num-edge-list,edge-feat,edge_*}.csv; edge.csv is optional if
//                              num-edge-list is 0
//   raw/node-feat/<type>/{node-feat,node_*}.csv   raw/node-label/<type>/node-label.csv
//   split/<name>/<type>/{train,valid,test}.csv
// A split in `.pt` files of torch.save, OGB's format for splits of edges, is ignored with a warning.
#pragma once

#include <string>

#include "services/format/source/source_reader.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

// Reads the folder options.path, which contains raw/ and, optionally, split/. The graph has the name of the folder.
// Large files are parsed by options.threads threads; the graph does not depend on their number. With a
// `scratch_folder`, arrays are built in unnamed, mapped files there, so that memory holds only the current blocks of
// text and the splits. The caller must call ValidateSourceGraph.
Result<graph::SourceGraph> ReadOgb(const SourceReadOptions& options, const std::string& scratch_folder = "");

}  // namespace espalier::format
