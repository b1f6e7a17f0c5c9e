// A whole graph in a few lines: what `generate` and `import` have made.
#pragma once

#include <string>

#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"

namespace espalier::cli {

// `changes`, unless null: what was done to its edges before.
std::string SummaryAsText(const graph::SourceGraph& graph, const std::string& path,
                          const graph::EdgeChanges* changes = nullptr);
// One line of JSON.
std::string SummaryAsJson(const graph::SourceGraph& graph, const std::string& path,
                          const graph::EdgeChanges* changes = nullptr);

}  // namespace espalier::cli
