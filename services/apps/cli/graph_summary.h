// A whole graph in a few lines: what `generate` and `import` have made.
#pragma once

#include <string>

#include "services/graph/source_graph.h"

namespace espalier::cli {

std::string SummaryAsText(const graph::SourceGraph& graph, const std::string& path);
// One line of JSON.
std::string SummaryAsJson(const graph::SourceGraph& graph, const std::string& path);

}  // namespace espalier::cli
