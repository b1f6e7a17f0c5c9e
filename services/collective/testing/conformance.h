// Conformance tests for implementations of Collective. A test file of an implementation instantiates them:
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

// Calls body(collective) in one thread per rank. Returns after all threads have ended.
void OnEveryRank(std::vector<std::unique_ptr<Collective>>& ranks, const std::function<void(Collective&)>& body);

class CollectiveConformanceTest : public testing::TestWithParam<GroupFactory> {};

}  // namespace espalier::collective
