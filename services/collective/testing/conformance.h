// What every Collective promises, as tests. A test file of an implementation says
//
//   INSTANTIATE_TEST_SUITE_P(InProcess, CollectiveConformanceTest, testing::Values(MakeInProcessGroup));
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "services/collective/collective.h"

namespace espalier::collective {

using GroupFactory = std::function<std::vector<std::unique_ptr<Collective>>(uint32_t size)>;

// Runs body(collective) in one thread per rank and returns when all have returned.
void OnEveryRank(std::vector<std::unique_ptr<Collective>>& ranks, const std::function<void(Collective&)>& body);

class CollectiveConformanceTest : public testing::TestWithParam<GroupFactory> {};

}  // namespace espalier::collective
