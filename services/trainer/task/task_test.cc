// Tests the functions of tasks that need no graph. Their training is tested with whole runs: train_job_test,
// edge_training_test, link_training_test.
#include "services/trainer/task/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/trainer/task/edge_task.h"
#include "services/trainer/task/link_task.h"
#include "services/trainer/task/make_task.h"

namespace espalier::trainer {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Users rate items, and items come from the same node type that a task on nodes labels.
graph::GraphSchema RatingSchema() {
  return *graph::GraphSchema::Make({"user", "item"}, {{"user", "rates", "item"}, {"item", "like", "item"}});
}

job::DistTraining JobOf(job::TaskType type) {
  job::DistTraining job;
  job.training.task.type = type;
  job.training.task.label = "stars";
  job.training.task.split = "random";
  job.output_save = {job::OutputKind::kEmbeddings, job::OutputKind::kPredictions};
  return job;
}

TEST(TaskTest, HasTypeOfDocument) {
  struct Row {
    job::TaskType type;
    const char *seeds, *drawn_edge, *head;
  };
  for (const Row& row :
       {Row{job::TaskType::kNodeClassification, "nodes", "edge", ""},
        Row{job::TaskType::kNodeRegression, "nodes", "edge", ""},
        Row{job::TaskType::kEdgeClassification, "edges", "edge other than held-out edges", "head for edges"},
        Row{job::TaskType::kEdgeRegression, "edges", "edge other than held-out edges", "head for edges"},
        Row{job::TaskType::kLinkPrediction, "edges", "edge other than held-out edges", "scorer of links"}}) {
    const TaskWords words = MakeTask(JobOf(row.type).training)->words();
    EXPECT_STREQ(words.seeds, row.seeds);
    EXPECT_STREQ(words.drawn_edge, row.drawn_edge);
    EXPECT_STREQ(words.head, row.head);
  }
}

TEST(TaskTest, PlansSeedsOfItsKind) {
  const graph::GraphSchema schema = RatingSchema();
  const auto plan_of = [&](job::TaskType type) {
    job::Training training = JobOf(type).training;
    training.task.node_type = "user";
    training.task.edge_type = "rates";
    sampler::EpochPlan plan;
    EXPECT_EQ(MakeTask(training)->PlanSeeds(schema, &plan), Status());
    return plan;
  };
  const NodeTypeId user = *schema.FindNodeType("user"), item = *schema.FindNodeType("item");
  const EdgeTypeId rates = *schema.FindEdgeType("rates");
  const sampler::EpochPlan nodes = plan_of(job::TaskType::kNodeClassification);
  EXPECT_EQ(nodes.seed_type, user);
  EXPECT_TRUE(std::holds_alternative<sampler::NodePlan>(nodes.seeds));
  const sampler::EpochPlan edges = plan_of(job::TaskType::kEdgeRegression);
  EXPECT_EQ(edges.seed_type, item) << "the destination's";
  ASSERT_NE(edges.edges(), nullptr);
  EXPECT_EQ(edges.edges()->edge_type, rates);
  EXPECT_EQ(edges.edges()->label, "stars");
  const sampler::EpochPlan links = plan_of(job::TaskType::kLinkPrediction);
  EXPECT_EQ(links.seed_type, item);
  ASSERT_NE(links.links(), nullptr);
  EXPECT_EQ(links.links()->types.front().edge_type, rates);
}

TEST(TaskTest, NamesAnEdgeTypeThatTheGraphLacks) {
  for (const auto type : {job::TaskType::kEdgeClassification, job::TaskType::kLinkPrediction}) {
    job::Training training = JobOf(type).training;
    training.task.edge_type = "buys";
    sampler::EpochPlan plan;
    const Status status = MakeTask(training)->PlanSeeds(RatingSchema(), &plan);
    EXPECT_THAT(status.message(), testing::StartsWith("spec.training.task.edgeType"));
  }
}

TEST(TaskTest, PlansItsResults) {
  const auto plan_of = [](job::TaskType type) {
    const job::DistTraining job = JobOf(type);
    return MakeTask(job.training)->PlanResults(job);
  };
  const ResultsPlan nodes = plan_of(job::TaskType::kNodeClassification);
  EXPECT_TRUE(nodes.nodes.embeddings && nodes.nodes.predictions);
  EXPECT_FALSE(nodes.nodes.embeddings_are_outputs || nodes.edge_predictions);
  EXPECT_TRUE(nodes.not_written.empty());
  const ResultsPlan edges = plan_of(job::TaskType::kEdgeClassification);
  EXPECT_TRUE(edges.nodes.embeddings && edges.nodes.embeddings_are_outputs && edges.edge_predictions);
  EXPECT_FALSE(edges.nodes.predictions);
  EXPECT_TRUE(edges.not_written.empty());
  const ResultsPlan links = plan_of(job::TaskType::kLinkPrediction);
  EXPECT_TRUE(links.nodes.embeddings && links.nodes.embeddings_are_outputs);
  EXPECT_FALSE(links.nodes.predictions || links.edge_predictions);
  EXPECT_THAT(links.not_written, ElementsAre(Pair("predictions", "link prediction has no predictions for nodes")));
}

TEST(TaskTest, PlansNoResultsWithoutARequest) {
  for (const auto type :
       {job::TaskType::kNodeRegression, job::TaskType::kEdgeRegression, job::TaskType::kLinkPrediction}) {
    job::DistTraining job = JobOf(type);
    job.output_save = {job::OutputKind::kModel};
    const ResultsPlan plan = MakeTask(job.training)->PlanResults(job);
    EXPECT_TRUE(plan.is_empty());
    EXPECT_TRUE(plan.not_written.empty());
  }
}

TEST(TaskTest, RecordsFieldsOfModelFile) {
  const graph::GraphSchema schema = RatingSchema();
  const TaskFacts nodes = MakeTask(JobOf(job::TaskType::kNodeClassification).training)->Facts(schema);
  EXPECT_THAT(nodes.model_metadata, ElementsAre(Pair("label", "stars")));
  EXPECT_TRUE(nodes.checkpoint_fields.empty());
  EXPECT_EQ(nodes.num_edge_outputs, 0);

  job::Task task = JobOf(job::TaskType::kEdgeClassification).training.task;
  task.edge_type = "rates";
  EXPECT_THAT(EdgeModelMetadata(task, 5),
              ElementsAre(Pair("edgeOutputs", "5"), Pair("edgeType", "rates"), Pair("label", "stars")));
  task.scorer = job::Scorer::kDistMult;
  EXPECT_THAT(LinkModelMetadata(task, {"user:rates:item", "item:like:item"}),
              ElementsAre(Pair("edgeType", "rates"), Pair("scorer", "DistMult"),
                          Pair("scorerRelations", "user:rates:item,item:like:item")));
  EXPECT_THAT(LinkModelMetadata(task, {}), ElementsAre(Pair("edgeType", "rates"), Pair("scorer", "DistMult")));
}

}  // namespace
}  // namespace espalier::trainer
