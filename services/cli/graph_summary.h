// Summaries of a source graph, which `generate` and `import` print after writing it.
#pragma once

#include <string>
#include <vector>

#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"

namespace espalier::cli {

// Returns the types, counts, columns and splits of the graph at `path`, one line each. `changes`, unless null, counts
// the edges that preprocessing dropped and added. `warnings` are those of the graph's reader.
std::string SummaryAsText(const graph::SourceGraph& graph, const std::string& path,
                          const graph::EdgeChanges* changes = nullptr, const std::vector<std::string>& warnings = {});
// Returns the same as one line of JSON. The fields "edgeChanges" and "warnings" are omitted if `changes` is null.
std::string SummaryAsJson(const graph::SourceGraph& graph, const std::string& path,
                          const graph::EdgeChanges* changes = nullptr, const std::vector<std::string>& warnings = {});

}  // namespace espalier::cli
