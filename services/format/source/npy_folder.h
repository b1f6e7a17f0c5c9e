// A graph as a folder of .npy files and graph.yaml (graph_description.h): what `espalier import` and
// `espalier generate` write, and the easiest way out of Python.
#pragma once

#include <string>

#include "services/base/work_meter.h"
#include "services/format/source/source_names.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

// Arrays of .npy files are mapped, not copied. Those of .npz files are inflated, with a `scratch_folder` into files
// there that are mapped, else into memory.
Result<graph::SourceGraph> ReadNpyFolder(const std::string& directory, const std::string& scratch_folder = "");

// Whether a split of the folder names its edges by numbers (graph::EdgePairs::edge_ids). No more than headers are read;
// false where they cannot be, for which ReadNpyFolder has the words.
bool NpyFolderNumbersEdges(const std::string& directory);

// What WriteNpyFolder of this process writes until all of it is there.
std::string UnfinishedNpyFolder(const std::string& directory);

// Writes beside `directory` and renames at the end: nothing or all of it is there afterwards. AlreadyExists where
// `directory` is and is not empty.
// `names`, where there are any, go to names/<node type>.txt (line i, from 0, is the name of original id i) and
// names/relations.tsv ("source:relation:destination <tab> the source's name" a line): for joining results, not read
// by ReadNpyFolder. `meter`, unless null, counts the bytes of the large arrays.
Status WriteNpyFolder(const graph::SourceGraph& graph, const std::string& directory, const SourceNames& names = {},
                      WorkMeter* meter = nullptr);

}  // namespace espalier::format
