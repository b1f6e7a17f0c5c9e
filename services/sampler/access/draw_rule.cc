#include "services/sampler/access/draw_rule.h"

#include <algorithm>

namespace espalier::sampler {
namespace {

Status CheckLength(const char* what, size_t length, size_t expected) {
  if (length == expected) return {};
  return InvalidArgument("a relation of a query has " + std::to_string(length) + " values in `" + what +
                         "`, expected " + std::to_string(expected));
}

// Query is HopQuery or PartitionHopQuery, whose members have the same names.
template <class Query>
Status CheckRule(const Query& query) {
  RETURN_IF_ERROR(CheckDrawMethod(query.draw.method, query.draw.replace));
  const bool has_walks = std::any_of(query.relations.begin(), query.relations.end(),
                                     [](const auto& relation) { return !relation.walks.empty(); });
  if (has_walks && query.draw.method != DrawMethod::kNeighbor) {
    return InvalidArgument("random walks support only the draw method Neighbor");
  }
  for (const auto& relation : query.relations) {
    const size_t count = relation.destinations.size();
    RETURN_IF_ERROR(CheckLength("times", relation.times.size(), query.draw.time_column.empty() ? 0 : count));
    RETURN_IF_ERROR(CheckLength("walks", relation.walks.size(), has_walks ? count : 0));
  }
  return {};
}

}  // namespace

Status CheckDrawMethod(DrawMethod method, bool replace) {
  switch (method) {
    case DrawMethod::kNeighbor: return {};
    case DrawMethod::kLabor:
      return replace ? InvalidArgument("the draw method Labor samples only without replacement") : Status();
    case DrawMethod::kLast:
      return replace ? InvalidArgument("the draw method Last samples only without replacement") : Status();
  }
  return InvalidArgument("draw method " + std::to_string(static_cast<int>(method)) + " does not exist");
}

Status CheckDrawRule(const HopQuery& query) { return CheckRule(query); }
Status CheckDrawRule(const PartitionHopQuery& query) { return CheckRule(query); }

}  // namespace espalier::sampler
