// How the negatives of edges are drawn (sampler/seeds/negatives.h describes each).
#pragma once

#include <utility>

#include "services/sampler/spec/spelling.h"

namespace espalier::sampler {

enum class NegativeKind { kUniform, kJoint, kInBatch, kInDegree, kGlobalUniform };

template <>
struct Spelling<NegativeKind> {
  static constexpr std::pair<NegativeKind, const char*> kNames[] = {{NegativeKind::kUniform, "Uniform"},
                                                                    {NegativeKind::kJoint, "Joint"},
                                                                    {NegativeKind::kInBatch, "InBatch"},
                                                                    {NegativeKind::kInDegree, "InDegree"},
                                                                    {NegativeKind::kGlobalUniform, "GlobalUniform"}};
};

}  // namespace espalier::sampler
