// OGB's layouts of one graph: the binary one (ogb_binary_reader.h) where its files are, else raw CSV, each file plain
// or gzip (".csv.gz"), numbers without headers.
//
// Homogeneous, node type "node", edge type node:edge:node:
//   raw/edge.csv               source,destination
//   raw/num-node-list.csv      one number        raw/num-edge-list.csv   one number
//   raw/node-feat.csv          optional, F32 [n, width] column "node-feat";  edge-feat.csv alike
//   raw/node-label.csv         optional, I64 (F32 where it has fractions) [n] or [n, width] column "node-label"
//   raw/node_*.csv, edge_*.csv  optional, more columns, named as the file
//   split/<name>/{train,valid,test}.csv   one node id a line
// A split that is kept in files of torch.save (`.pt`), as OGB keeps splits of edges, is left out with a warning.
// Heterogeneous:
//   raw/num-node-dict.csv      type names, then their numbers of nodes
//   raw/triplet-type-list.csv  head,relation,tail a line
//   raw/relations/<head>___<relation>___<tail>/{edge,num-edge-list,edge-feat,edge_*}.csv; without edge.csv where
//                              num-edge-list is 0
//   raw/node-feat/<type>/{node-feat,node_*}.csv   raw/node-label/<type>/node-label.csv
//   split/<name>/<type>/{train,valid,test}.csv
#pragma once

#include <string>

#include "services/format/source/source_reader.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

// Reads the folder options.path, which holds raw/ and split/. The graph's name is the folder's. The graph does not
// depend on options.threads, which parse large files. With a `scratch_folder` arrays are put together in unnamed files
// there, and mapped: memory holds the blocks of text at hand and the splits.
Result<graph::SourceGraph> ReadOgb(const SourceReadOptions& options, const std::string& scratch_folder = "");

}  // namespace espalier::format
