// A child that was forked from a process with open connections.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "services/client/loaders/node_data_loader.h"
#include "services/client/testing/open_served.h"

namespace espalier::client {
namespace {

constexpr NodeTypeId kForkedNodeType(0);

bool IsRefused(const Status& status) {
  return status.code() == StatusCode::kFailedPrecondition && status.message().find("forked") != std::string::npos;
}

// Runs in the child process and exits with the number of the failed check. Never returns to the test.
[[noreturn]] void UseGraphInChild(std::unique_ptr<DistGraph> inherited, DistNodeDataLoader& loader) {
  const std::array node{GlobalNodeId(1)};
  if (!IsRefused(inherited->GatherNodeRows(kForkedNodeType, "node-feat", node).status())) _exit(1);
  if (!IsRefused(DistGraph::Open(inherited->context()).status())) _exit(2);
  if (!IsRefused(loader.StartEpoch(1)) || !IsRefused(loader.Next().status())) _exit(3);
  inherited.reset();
  _exit(0);
}

TEST(ForkedProcessTest, IsRefusedAndParentContinues) {
#ifdef ESPALIER_THREAD_SANITIZER
  GTEST_SKIP() << "the thread sanitizer ends children of processes with threads";
#endif
  testing::ServedGraph served(testing::SmallGraph(), 2);
  auto graph = testing::OpenServed(served.addresses());
  const std::array node{GlobalNodeId(1)};
  NodeLoaderOptions options{.seed_type = kForkedNodeType, .batch_size = 16};
  options.sampling.layers = {{{5}}};
  const auto loader = DistNodeDataLoader::Make(
      *graph, std::vector<GlobalNodeId>{node.begin(), node.end()}, options,
      [](sampler::MiniBatch batch, const Deadline&) -> Result<sampler::MiniBatch> { return batch; });
  ASSERT_TRUE(loader.ok() && (*loader)->StartEpoch(0).ok());
  ASSERT_TRUE(graph->GatherNodeRows(kForkedNodeType, "node-feat", node).ok());
  for (int child = 0; child < 3; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) UseGraphInChild(std::move(graph), **loader);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(graph->GatherNodeRows(kForkedNodeType, "node-feat", node).ok());
    EXPECT_TRUE(DistGraph::Open(graph->context()).ok());
  }
}

}  // namespace
}  // namespace espalier::client
