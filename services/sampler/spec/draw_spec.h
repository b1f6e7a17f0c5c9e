// How a node's in-edges are drawn.
#pragma once

#include <cstdint>
#include <utility>

#include "services/sampler/spec/spelling.h"

namespace espalier::sampler {

enum class DrawMethod : uint8_t {
  kNeighbor = 0,  // every node on its own, uniformly or by weight
  // LABOR-0 (Balin and Catalyurek, NeurIPS 2023, arXiv 2210.13339) as sequential Poisson sampling (its appendix A.3):
  // every source has one variate, and a node takes the in-edges whose sources have the smallest. With equal weights and
  // no parallel edges, one node's draw is distributed as kNeighbor's without replacement (unequal weights: only about);
  // nodes with common neighbours agree on them, so a batch has fewer.
  kLabor = 1,
  kLast = 2,  // the last of the stored order, which is the latest of a graph with a time column; nothing is random
};

template <>
struct Spelling<DrawMethod> {
  static constexpr std::pair<DrawMethod, const char*> kNames[] = {
      {DrawMethod::kNeighbor, "Neighbor"}, {DrawMethod::kLabor, "Labor"}, {DrawMethod::kLast, "Last"}};
};

}  // namespace espalier::sampler
