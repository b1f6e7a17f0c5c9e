#include "services/sampler/access/owner_route.h"

#include <algorithm>

namespace espalier::sampler {
namespace {

template <class LocalId, class GlobalId>
OwnerRouteOf<LocalId> RouteIds(std::span<const uint64_t> first, std::span<const GlobalId> ids) {
  OwnerRouteOf<LocalId> route;
  route.locals.resize(first.size() - 1);
  if (route.locals.size() == 1) {
    std::vector<LocalId>& locals = route.locals[0];
    locals.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) locals[i] = LocalId(static_cast<uint32_t>(ids[i].value));
    return route;
  }
  route.owner.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint32_t p = FindRange(first, ids[i].value);
    route.owner[i] = p;
    route.locals[p].push_back(LocalId(static_cast<uint32_t>(ids[i].value - first[p])));
  }
  return route;
}

}  // namespace

uint32_t FindRange(std::span<const uint64_t> first, uint64_t id) {
  // The last range that starts at or before the id contains it. Empty ranges that start at the same id precede it.
  return static_cast<uint32_t>(std::upper_bound(first.begin(), first.end() - 1, id) - first.begin()) - 1;
}

OwnerRoute RouteToOwners(std::span<const uint64_t> first, std::span<const GlobalNodeId> nodes) {
  return RouteIds<LocalNodeId>(first, nodes);
}

RowRoute RouteToOwners(std::span<const uint64_t> first, std::span<const GlobalRowId> rows) {
  return RouteIds<LocalRowId>(first, rows);
}

std::vector<uint64_t> EqualRanges(uint64_t num_ids, uint64_t num_ranges) {
  // Not num_ids * p / num_ranges: the product may overflow.
  const uint64_t quotient = num_ids / num_ranges, remainder = num_ids % num_ranges;
  std::vector<uint64_t> first;
  for (uint64_t p = 0; p <= num_ranges; ++p) first.push_back(quotient * p + remainder * p / num_ranges);
  return first;
}

}  // namespace espalier::sampler
