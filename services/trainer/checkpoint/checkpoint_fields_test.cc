// The fields that determine sampling, and the names of edge types in fields. A checkpoint must fit only runs that
// sample in the same way.
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
  return ListDecidingFields(job, {.book = book, .seed_type = NodeTypeId(0), .module_digest = {}});
}

// Returns the fields below training.sampling, without that prefix.
Fields ListSamplingFields(const sampler::DrawSpec& draw) {
  Fields fields;
  for (const auto& [path, value] : ListAllFields(draw)) {
    if (path.starts_with(kSamplingPath)) fields[path.substr(sizeof(kSamplingPath) - 1)] = value;
  }
  return fields;
}

TEST(DecidingFieldsTest, SetSamplingOptionsAreFields) {
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
TEST(DecidingFieldsTest, OtherExpansionDoesNotResume) {
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

// Authors write papers and like them; papers cite papers, and authors authors: only `writes` and `likes` are unique.
graph::PartitionBook Library() {
  const graph::GraphSchema schema = *graph::GraphSchema::Make(
      {"a", "p"}, {{"a", "writes", "p"}, {"a", "likes", "p"}, {"p", "cites", "p"}, {"a", "cites", "a"}});
  return *graph::PartitionBook::Make(schema, {{0, 10}, {0, 10}}, {{0, 4}, {0, 4}, {0, 4}, {0, 4}});
}

// The document's names of edge types.
struct Spelling {
  std::string edge_type = {};
  std::vector<std::string> edge_types = {};
  std::string reverse = {};
  std::vector<job::EdgeTypeFanout> fanouts = {};
};

CheckpointFacts FactsOf(job::TaskType task, const Spelling& spelling) {
  const graph::PartitionBook book = Library();
  job::DistTraining job;
  job.training.task.type = task;
  job.training.task.edge_type = spelling.edge_type;
  job.training.task.edge_types = spelling.edge_types;
  job.training.task.reverse_edge_type = spelling.reverse;
  job.training.sampling.layers.resize(2);
  job.training.sampling.layers[0] = {.fanout = 10, .edge_types = spelling.fanouts};
  job.training.sampling.layers[1].fanout = 5;
  const Fields task_fields = task == job::TaskType::kLinkPrediction ? ListLinkTaskFields(job.training, book.schema())
                                                                    : ListEdgeTaskFields(job.training.task, 1);
  CheckpointFacts facts;
  facts.fields = ListDecidingFields(
      job, {.book = book, .seed_type = NodeTypeId(0), .module_digest = {}, .task_fields = task_fields});
  facts.edge_types = ListEdgeTypeSpellings(book.schema());
  return facts;
}

Status Resume(job::TaskType task, const Spelling& from, const Spelling& run) {
  return CheckFits(MakeManifest(LoopSnapshot(), FactsOf(task, from)), FactsOf(task, run));
}

TEST(EdgeTypeSpellingTest, OtherSpellingOfSameEdgeTypesResumes) {
  const auto labels = job::TaskType::kEdgeClassification, links = job::TaskType::kLinkPrediction;
  const Spelling relation = {.edge_type = "writes", .reverse = "likes", .fanouts = {{"writes", 3}, {"a:cites:a", 2}}};
  const Spelling whole = {
      .edge_type = "a:writes:p", .reverse = "a:likes:p", .fanouts = {{"a:writes:p", 3}, {"a:cites:a", 2}}};
  for (const job::TaskType task : {labels, links}) {
    EXPECT_EQ(Resume(task, relation, whole), Status());
    EXPECT_EQ(Resume(task, whole, relation), Status());
  }
  EXPECT_EQ(Resume(links, {.edge_types = {"writes", "a:cites:a"}}, {.edge_types = {"a:cites:a", "a:writes:p"}}),
            Status());
  EXPECT_EQ(Resume(links, {}, {.edge_types = {"a:cites:a", "likes", "p:cites:p", "writes"}}), Status());
}

TEST(EdgeTypeSpellingTest, OtherEdgeTypeIsDifference) {
  const auto task = job::TaskType::kEdgeClassification;
  EXPECT_THAT(Resume(task, {.edge_type = "writes"}, {.edge_type = "a:likes:p"}).message(),
              HasSubstr("training.task.edgeType: the checkpoint has 'writes', this job has 'a:likes:p'"));
  EXPECT_THAT(Resume(task, {.edge_type = "writes"}, {.edge_type = "writes", .reverse = "likes"}).message(),
              HasSubstr("training.task.reverseEdgeType: the checkpoint has '', this job has 'likes'"));
  EXPECT_THAT(Resume(task, {.fanouts = {{"writes", 3}}}, {.fanouts = {{"a:writes:p", 4}}}).message(),
              HasSubstr("training.sampling.layers: the checkpoint has '10;writes=3,5', this job has "
                        "'10;a:writes:p=4,5'"));
  EXPECT_THAT(Resume(task, {.fanouts = {{"a:cites:a", 3}}}, {.fanouts = {{"p:cites:p", 3}}}).message(),
              HasSubstr("training.sampling.layers: the checkpoint has '10;a:cites:a=3,5', this job has "
                        "'10;p:cites:p=3,5'"));
}

TEST(EdgeTypeSpellingTest, MalformedTextsAreUnchanged) {
  const EdgeTypeSpellings spellings = ListEdgeTypeSpellings(Library().schema());
  for (const char* const text : {"10;writes", "10;", ";", "10;unknown=3", "10;cites=3", "writes=3"}) {
    const std::string canonical = ToCanonicalText("training.sampling.layers", text, spellings);
    EXPECT_EQ(canonical, std::string(text) == "10;writes" ? "10;a:writes:p" : text);
  }
  EXPECT_EQ(ToCanonicalText("training.task.edgeType", "cites", spellings), "cites") << "two edge types have it";
  EXPECT_EQ(ToCanonicalText("training.task.label", "writes", spellings), "writes");
}

}  // namespace
}  // namespace espalier::trainer
