#include "services/sampler/owner_route.h"

#include <algorithm>

namespace espalier::sampler {

uint32_t RangeOf(std::span<const uint64_t> first, uint64_t id) {
  // The last range that starts at or before the id is the one that holds it: empty ranges start where the next does.
  return static_cast<uint32_t>(std::upper_bound(first.begin(), first.end() - 1, id) - first.begin()) - 1;
}

OwnerRoute RouteToOwners(std::span<const uint64_t> first, std::span<const GlobalNodeId> nodes) {
  OwnerRoute route;
  route.locals.resize(first.size() - 1);
  if (route.locals.size() == 1) {
    std::vector<LocalNodeId>& locals = route.locals[0];
    locals.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) locals[i] = LocalNodeId(static_cast<uint32_t>(nodes[i].value));
    return route;
  }
  route.owner.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint32_t p = RangeOf(first, nodes[i].value);
    route.owner[i] = p;
    route.locals[p].push_back(LocalNodeId(static_cast<uint32_t>(nodes[i].value - first[p])));
  }
  return route;
}

}  // namespace espalier::sampler
