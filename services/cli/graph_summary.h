// Summaries of a source graph, which `generate` and `import` print after writing it.
#pragma once

#include <string>
#include <vector>

#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"

namespace espalier::cli {

// Describes the graph at `path` in lines: one for each node and edge type, with its count and columns, and one for each
// split of a type. `changes`, unless null, counts the edges that preprocessing dropped and added. `warnings` are those
// of the graph's reader.
std::string SummaryAsText(const graph::SourceGraph& graph, const std::string& path,
                          const graph::EdgeChanges* changes = nullptr, const std::vector<std::string>& warnings = {});
// Returns the same as one line of JSON. The fields "edgeChanges" and "warnings" are omitted if `changes` is null.
std::string SummaryAsJson(const graph::SourceGraph& graph, const std::string& path,
                          const graph::EdgeChanges* changes = nullptr, const std::vector<std::string>& warnings = {});

}  // namespace espalier::cli
