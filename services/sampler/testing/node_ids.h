// Makes lists of node ids from numbers, for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "services/graph/ids.h"

namespace espalier::sampler::testing {

inline std::vector<GlobalNodeId> Ids(std::initializer_list<uint64_t> ids) {
  std::vector<GlobalNodeId> nodes;
  for (const uint64_t id : ids) nodes.push_back(GlobalNodeId(id));
  return nodes;
}

}  // namespace espalier::sampler::testing
