// Client metrics of a source of mini-batches from samplers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/testing/soon.h"
#include "services/client/remote/remote_mini_batch_source.h"
#include "services/client/testing/served_graph.h"
#include "services/client/testing/served_samplers.h"

namespace espalier::client {
namespace {

using ::testing::HasSubstr;

TEST(MiniBatchMetricsTest, CountsBatchesAsCallsAndReplacedStreamsAsRetries) {
  const std::shared_ptr<sampler::PartitionedGraph> graph =
      shard::testing::MakeTestGraph(testing::SmallGraph(), 2, 4).graph;
  testing::ServedSamplers samplers(graph, 3, {});
  const auto registry = std::make_shared<telemetry::MetricRegistry>();
  RemoteMiniBatchOptions options{.samplers = samplers.addresses(), .partition_key = testing::kPartitionKey};
  options.batches_ahead = 1;  // so that the killed sampler has steps left
  options.channel.metrics = std::make_shared<rpc::CallMetrics>(registry);
  const auto& split = graph->description().splits.front();
  const sampler::EpochPlan plan{.seed_type = split.node_type, .split = split.split, .batch_size = 10};
  const sampler::SamplingSpec spec{.layers = {{{6}}}};
  const auto source = RemoteMiniBatchSource::Make(graph->book(), plan, spec, options);
  ASSERT_TRUE(source.ok()) << source.status().ToString();

  ASSERT_TRUE((*source)->StartEpoch(0, 0).ok());
  int count = 0;
  for (;; ++count) {
    if (count == 2) samplers.Kill(1);
    const auto batch = (*source)->Next(Soon());
    if (batch.status().code() == StatusCode::kOutOfRange) break;
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  }
  EXPECT_GT(count, 6);
  const std::string text = registry->Serialize();
  EXPECT_THAT(text, HasSubstr("espalier_client_calls_total{code=\"OK\",method=\"Stream\"} " + std::to_string(count)));
  EXPECT_THAT(text, HasSubstr("espalier_client_retries_total{cause=\"no_answer\",method=\"Stream\"} " +
                              std::to_string((*source)->num_takeovers())));
  EXPECT_GE((*source)->num_takeovers(), 1u);
  EXPECT_THAT(text, ::testing::Not(HasSubstr("code=\"OUT_OF_RANGE\""))) << "the end of an epoch is no call";
}

}  // namespace
}  // namespace espalier::client
