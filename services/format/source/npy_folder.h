// Reads and writes a graph as a folder of .npy files with graph.yaml (graph_description.h). This is the output format
// of `espalier import` and `espalier generate`, and the simplest format to write from Python.
#pragma once

#include <string>

#include "services/base/work_meter.h"
#include "services/format/source/source_names.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

// Reads a folder. Arrays in .npy files are mapped, except unaligned ones (ReadNpy). Arrays in .npz files are
// decompressed into memory, or, with a `scratch_folder`, into mapped files there. The graph is not validated.
Result<graph::SourceGraph> ReadNpyFolder(const std::string& directory, const std::string& scratch_folder = "");

// Returns true if a split of edges may identify its edges by row numbers or ids (graph::EdgePairs::edge_ids). Maps .npy
// files to read their headers, and assumes true for members of .npz files. Returns false if graph.yaml cannot be read;
// ReadNpyFolder then returns the error.
bool NpyFolderSplitsMayHaveEdgeIds(const std::string& directory);

// Returns the path of the temporary folder that WriteNpyFolder(graph, directory) in this process writes and then
// renames.
std::string UnfinishedNpyFolder(const std::string& directory);

// Writes a folder. Writes to a temporary folder next to `directory` and renames it at the end, so that either the whole
// folder or nothing is visible. Returns AlreadyExists if `directory` exists and is not empty. `names`, if not empty,
// are written to names/<node type>.txt (line i, from 0, is the name of original id i) and names/relations.tsv (lines of
// "<edge type> <tab> <name of the relation in the input graph>"). They serve to join results with the input graph;
// ReadNpyFolder does not read them. The graph must not have scales (NodeSet::scales), which the format cannot store.
// `meter`, unless null, counts the bytes of the arrays.
Status WriteNpyFolder(const graph::SourceGraph& graph, const std::string& directory, const SourceNames& names = {},
                      WorkMeter* meter = nullptr);

}  // namespace espalier::format
