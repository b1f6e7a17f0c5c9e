// The fields that determine sampling. A checkpoint must fit only runs that sample in the same way.
#include "services/trainer/checkpoint/checkpoint_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/trainer/checkpoint/checkpoint_state.h"

namespace espalier::trainer {
namespace {

using Fields = std::map<std::string, std::string>;
using ::testing::HasSubstr;

constexpr char kSamplingPath[] = "training.sampling.";

Fields ListAllFields(const sampler::DrawSpec& draw) {
  const graph::GraphSchema schema = *graph::GraphSchema::Make({"n"}, {{"n", "to", "n"}});
  const graph::PartitionBook book = *graph::PartitionBook::Make(schema, {{0, 10}}, {{0, 4}});
  job::DistTraining job;
  job.training.sampling.layers.resize(2);
  job.training.sampling.layers[0].fanout = 10;
  job.training.sampling.layers[1].fanout = 5;
  job.training.sampling.draw = draw;
  return DecidingFields(job, {.book = book, .seed_type = NodeTypeId(0), .module_digest = {}});
}

// Returns the fields below training.sampling, without that prefix.
Fields ListSamplingFields(const sampler::DrawSpec& draw) {
  Fields fields;
  for (const auto& [path, value] : ListAllFields(draw)) {
    if (path.starts_with(kSamplingPath)) fields[path.substr(sizeof(kSamplingPath) - 1)] = value;
  }
  return fields;
}

TEST(DecidingFieldsTest, EveryOptionOfDrawsIsAFieldWhereItIsSet) {
  const Fields unset = {{"layers", "10,5"}, {"replace", "false"}, {"weight", ""}};
  EXPECT_EQ(ListSamplingFields({}), unset) << "as checkpoints from before the other options";
  const auto with = [&](const Fields& others) {
    Fields fields = others;
    fields.insert(unset.begin(), unset.end());
    return fields;
  };
  EXPECT_EQ(ListSamplingFields({.replace = true}), with({{"replace", "true"}}));
  EXPECT_EQ(ListSamplingFields({.weight_column = "w"}), with({{"weight", "w"}}));
  EXPECT_EQ(ListSamplingFields({.method = sampler::DrawMethod::kLabor}),
            with({{"method", "Labor"}, {"layerDependency", "false"}}));
  EXPECT_EQ(ListSamplingFields({.method = sampler::DrawMethod::kLabor, .layer_dependency = true}),
            with({{"method", "Labor"}, {"layerDependency", "true"}}));
  EXPECT_EQ(ListSamplingFields({.expand = sampler::Expand::kAlways}), unset);
  EXPECT_EQ(ListSamplingFields({.expand = sampler::Expand::kOnce}), with({{"expand", "Once"}}));
}

// The sampling options were changed between the checkpoint and the resumed run.
TEST(DecidingFieldsTest, ARunThatExpandsOtherwiseDoesNotResume) {
  CheckpointFacts always, once;
  always.fields = ListAllFields({.expand = sampler::Expand::kAlways});
  once.fields = ListAllFields({.expand = sampler::Expand::kOnce});
  const auto resume = [](const CheckpointFacts& from, const CheckpointFacts& run) {
    return CheckFits(MakeManifest(LoopSnapshot(), from), run);
  };
  EXPECT_EQ(resume(always, always), Status());
  EXPECT_EQ(resume(once, once), Status());
  const Status to_once = resume(always, once), to_always = resume(once, always);
  EXPECT_EQ(to_once.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(to_once.message(),
              HasSubstr("training.sampling.expand: the checkpoint has nothing, this job has 'Once'"));
  EXPECT_EQ(to_always.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(to_always.message(),
              HasSubstr("training.sampling.expand: the checkpoint has 'Once', this job has nothing"));
}

}  // namespace
}  // namespace espalier::trainer
