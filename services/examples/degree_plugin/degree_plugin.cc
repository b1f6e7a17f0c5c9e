// A server plugin that counts nodes by in-degree and finds the nodes with the largest values of a feature
// (docs/server-plugins.md).
// [example]
#include <cmath>
#include <cstdio>
#include <map>
#include <queue>
#include <sstream>

#include "espalier/plugin/plugin.h"

using namespace espalier::plugin;

// Request: "RELATION". Returns a line "degree count" for each in-degree: the number of owned nodes that have it.
std::string InDegrees(const Context& context, std::string_view request) {
  const Array indptr = context.in_edges(context.FindEdgeType(request)).indptr;
  std::map<uint64_t, uint64_t> nodes_by_degree;
  for (size_t node = 0; node + 1 < indptr.size(); ++node) {
    if (node % 65536 == 0) context.ThrowIfCallerGone();
    ++nodes_by_degree[indptr.id(node + 1) - indptr.id(node)];
  }
  std::ostringstream lines;
  for (const auto& [degree, nodes] : nodes_by_degree) lines << degree << ' ' << nodes << '\n';
  return lines.str();
}

// Request: "NODETYPE COLUMN ELEMENT COUNT". Returns a line "value id" for each of the COUNT owned nodes with the
// largest values in this element of the column: largest first, equal values by original id.
std::string TopRows(const Context& context, std::string_view request) {
  std::istringstream words{std::string(request)};
  std::string node_type, column;
  size_t element = 0, count = 0;
  words >> node_type >> column >> element >> count;
  if (!words || count > 1000) throw BadRequest("expected a node type, a column, an element and a count up to 1000");
  const uint32_t type = context.FindNodeType(node_type);
  const Array ids = context.nodes(type).original_ids;
  const Array rows = context.node_column(type, column);
  if (element >= rows.row_size()) throw BadRequest("expected an element below " + std::to_string(rows.row_size()));
  const std::span<const float> values = rows.values<float>();  // throws if the column is not F32

  std::priority_queue<std::pair<float, uint64_t>> best;  // (-value, id): the smallest value is on top
  for (size_t node = 0; node < ids.size(); ++node) {
    if (node % 65536 == 0) context.ThrowIfCallerGone();
    const float value = values[node * rows.row_size() + element];
    if (!std::isnan(value)) best.emplace(-value, ids.id(node));
    if (best.size() > count) best.pop();
  }
  std::string lines;
  for (; !best.empty(); best.pop()) {
    char line[64];
    std::snprintf(line, sizeof(line), "%.9g %llu\n", static_cast<double>(-best.top().first),
                  static_cast<unsigned long long>(best.top().second));
    lines.insert(0, line);
  }
  return lines;
}

ESPALIER_PLUGIN("1.0", Idempotent<InDegrees>("in_degrees"), Idempotent<TopRows>("top_rows"));
// [example]
