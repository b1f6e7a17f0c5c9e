// A whole graph in a few lines: what `generate` and `import` have made.
#pragma once

#include <string>
#include <vector>

#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"

namespace espalier::cli {

// `changes`, unless null: what was done to its edges before. `warnings`: what its reader has noticed.
std::string SummaryAsText(const graph::SourceGraph& graph, const std::string& path,
                          const graph::EdgeChanges* changes = nullptr, const std::vector<std::string>& warnings = {});
// The same as one line of JSON; "warnings" is there where `changes` is.
std::string SummaryAsJson(const graph::SourceGraph& graph, const std::string& path,
                          const graph::EdgeChanges* changes = nullptr, const std::vector<std::string>& warnings = {});

}  // namespace espalier::cli
