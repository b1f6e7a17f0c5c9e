// Link prediction over several relations with learnable embeddings only, from a document to its metric. Trainers are
// threads, and all partitions are in this process. Ranks are compared to an independent computation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "services/base/random_purpose.h"
#include "services/collective/self_collective.h"
#include "services/graph/preprocess.h"
#include "services/job/sampling/link_plan.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/sampler/seeds/negatives.h"
#include "services/shard/testing/test_graph.h"
#include "services/storage/memory_store.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/evaluation/link_evaluation.h"
#include "services/trainer/task/make_task.h"
#include "services/trainer/testing/small_runs.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

constexpr char kTriples[] = "files";
constexpr uint64_t kEntities = 40;

// The relations i -> i + 1, i -> 2 i and i <-> i + 20 of 40 entities, with their reverse relations. Every fifth edge is
// a validation or test edge; with `known` these are training edges as well.
graph::SourceGraph Triples(bool known) {
  graph::SourceGraph source;
  source.name = "numbers";
  source.schema = *graph::GraphSchema::Make(
      {"entity"}, {{"entity", "next", "entity"}, {"entity", "twice", "entity"}, {"entity", "opposite", "entity"}});
  source.nodes.push_back({.count = kEntities});
  // A column for models that read features.
  espalier::Tensor features = espalier::Tensor::Zeros(DType::kF32, {static_cast<int64_t>(kEntities), 6});
  for (size_t i = 0; i < 6 * kEntities; ++i) {
    features.mutable_values<float>()[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1.0f;
  }
  source.nodes[0].columns["x"] = features;
  for (uint16_t type = 0; type < 3; ++type) {
    const std::string relation = source.schema.EdgeType(EdgeTypeId(type)).relation;
    std::vector<uint32_t> from, to;
    graph::EdgeSplit& split = source.edge_splits[kTriples][type];
    for (uint32_t i = 0; i < kEntities; ++i) {
      from.push_back(i);
      to.push_back((relation == "next" ? i + 1 : relation == "twice" ? 2 * i : i + 20) % kEntities);
      const bool measured = i % 5 == 3;
      graph::EdgePairs& part = !measured ? split.train : i % 2 == 0 ? split.validation : split.test;
      part.sources.push_back(from.back());
      part.destinations.push_back(to.back());
      if (!measured || !known) continue;
      split.train.sources.push_back(from.back());
      split.train.destinations.push_back(to.back());
    }
    source.edges.push_back(
        {.sources = espalier::Tensor::FromVector(from), .destinations = espalier::Tensor::FromVector(to)});
  }
  graph::PreprocessOptions options;
  options.add_reverse_edges = true;
  if (!known) options.held_out = graph::HeldOutEdges{kTriples, "", ""};
  return *graph::Preprocess(std::move(source), options, 1);
}

job::DistTraining TripleJob() {
  job::DistTraining job;
  job.name = "triples";
  job.training.task.type = job::TaskType::kLinkPrediction;
  job.training.task.split = kTriples;
  job.training.task.reverse_edges_added = true;
  job.training.task.scorer = job::Scorer::kComplEx;
  job.training.task.loss = job::LinkLoss::kCrossEntropy;
  job.training.task.negatives = sampler::NegativeKind::kJoint;
  job.training.task.num_negatives = 16;
  job::Embedding rows;
  rows.size = 32;
  rows.initializer.low = -0.1;
  rows.initializer.high = 0.1;
  rows.optimizer.learning_rate = 0.1;
  job.training.inputs = {{"", {}, rows}};
  job.training.model.type = job::ModelType::kEmbedding;
  job.training.model.hidden_size = 32;
  job.training.model.dropout = 0.1;
  job.training.batch_size = 50;
  job.training.epochs = 3;
  job.training.seed = 1;
  job.training.evaluation.metric = job::Metric::kMrr;
  return job;
}

TEST(KnowledgeGraphTest, OverfitsTriples) {
  for (const auto scorer : {job::Scorer::kDistMult, job::Scorer::kComplEx}) {
    job::DistTraining job = TripleJob();
    job.training.task.scorer = scorer;
    job.training.epochs = 40;
    job.training.evaluation.every_epochs = 40;
    const TrainOutcome outcome = TrainSmall(Triples(/*known=*/true), job);
    EXPECT_THAT(outcome.warnings, testing::IsEmpty());
    ASSERT_TRUE(outcome.test.has_value());
    EXPECT_GT(*outcome.test, 0.6) << static_cast<int>(scorer);  // chance: 0.1
  }
}

TEST(KnowledgeGraphTest, GivesTheSameBitsForAnyPartitioningAndTheSameStepsForAnyTrainers) {
  const graph::SourceGraph source = Triples(/*known=*/false);
  for (const auto negatives :
       {sampler::NegativeKind::kJoint, sampler::NegativeKind::kUniform, sampler::NegativeKind::kInDegree}) {
    job::DistTraining job = TripleJob();
    job.training.task.negatives = negatives;
    const TrainOutcome one = TrainSmall(source, job);
    ASSERT_TRUE(one.test.has_value());
    const TrainOutcome four = TrainSmall(source, job, {.partitions = 4});
    EXPECT_EQ(four.parameters_digest, one.parameters_digest) << static_cast<int>(negatives);
    EXPECT_EQ(four.test, one.test);
    EXPECT_EQ(four.loop.first_epoch_losses, one.loop.first_epoch_losses);
    const TrainOutcome two = TrainSmall(source, job, {.partitions = 4, .trainers = 2});
    ASSERT_EQ(two.loop.first_epoch_losses.size(), one.loop.first_epoch_losses.size());
    for (size_t step = 0; step < one.loop.first_epoch_losses.size(); ++step) {
      EXPECT_NEAR(two.loop.first_epoch_losses[step] / one.loop.first_epoch_losses[step], 1.0, 1e-4);
    }
    EXPECT_NEAR(*two.test, *one.test, 0.02);
  }
}

TEST(KnowledgeGraphTest, StoppedRunResumesWithSameNumbers) {
  const graph::SourceGraph source = Triples(/*known=*/false);
  const job::DistTraining job = TripleJob();
  const TrainOutcome whole = TrainSmall(source, job);
  const auto store = std::make_shared<storage::MemoryStore>();
  const TrainOutcome stopped = TrainSmall(source, job, {.partitions = 2, .store = store, .stop_after = 5});
  EXPECT_TRUE(stopped.stopped());
  const TrainOutcome resumed = TrainSmall(source, job, {.partitions = 3, .store = store, .incarnation = 2});
  EXPECT_NE(resumed.resumed_from, "");
  EXPECT_EQ(resumed.parameters_digest, whole.parameters_digest);
  EXPECT_EQ(resumed.test, whole.test);
  ASSERT_EQ(resumed.loop.epochs.size(), whole.loop.epochs.size());
  EXPECT_EQ(resumed.loop.epochs.back().loss, whole.loop.epochs.back().loss);
}

TEST(KnowledgeGraphTest, OneRelationOfManyMayBeChosen) {
  job::DistTraining job = TripleJob();
  job.training.task.edge_type = "next";
  const TrainOutcome outcome = TrainSmall(Triples(/*known=*/false), job, {.partitions = 2});
  EXPECT_EQ(outcome.loop.epochs.front().num_seeds, 32u);  // 8 of 40 edges are held out
  EXPECT_TRUE(outcome.test.has_value());
}

TEST(KnowledgeGraphTest, RowsOfOtherWidthPassThroughLinearMap) {
  job::DistTraining job = TripleJob();
  job.training.inputs[0].features = {"x"};  // 6 + 32 values
  const TrainOutcome one = TrainSmall(Triples(/*known=*/false), job);
  const TrainOutcome three = TrainSmall(Triples(/*known=*/false), job, {.partitions = 3});
  EXPECT_EQ(three.parameters_digest, one.parameters_digest);
  EXPECT_LT(one.loop.epochs.back().loss, one.loop.epochs.front().loss);
}

TEST(KnowledgeGraphTest, RefusesJobsThatDoNotFitTheGraph) {
  const graph::SourceGraph source = Triples(/*known=*/false);
  job::DistTraining job = TripleJob();
  job.training.inputs.clear();
  EXPECT_THAT(RunSmall(source, job).status().message(),
              HasSubstr("needs features or an embedding of node type 'entity'"));
  job = TripleJob();
  job.training.sampling.layers = {{3, {}}};
  EXPECT_THAT(RunSmall(source, job).status().message(), HasSubstr("spec.training.sampling.layers"));
  job = TripleJob();
  job.training.task.reverse_edge_type = "rev_next";
  EXPECT_THAT(RunSmall(source, job).status().message(), HasSubstr("name spec.training.task.edgeType"));
  job.training.task.edge_type = "next";
  EXPECT_TRUE(RunSmall(source, job).ok());
  job.training.task.reverse_edge_type = "twice";
  EXPECT_THAT(RunSmall(source, job).status().message(), HasSubstr("omit one of the two fields"));
}

TEST(LinkPlanTest, RelationAndReverseAreMutual) {
  const graph::SourceGraph source = Triples(/*known=*/false);
  const auto plan = job::MakeLinkPlan(TripleJob().training.task, source.schema);
  ASSERT_TRUE(plan.ok() && plan->has_value()) << plan.status().ToString();
  ASSERT_EQ((*plan)->types.size(), 6u);
  for (const sampler::LinkType& type : (*plan)->types) {
    ASSERT_TRUE(type.reverse_type.has_value());
    const std::string there = source.schema.EdgeType(type.edge_type).relation;
    const std::string back = source.schema.EdgeType(*type.reverse_type).relation;
    EXPECT_TRUE(back == "rev_" + there || there == "rev_" + back) << there << " " << back;
  }
}

using Triple = std::tuple<int64_t, uint32_t, int64_t>;  // source, edge type, destination

// Returns the edges of all parts of the split.
std::set<Triple> KnownTriples(const graph::SourceGraph& source) {
  std::set<Triple> known;
  for (const auto& [type, split] : source.edge_splits.at(kTriples)) {
    for (const graph::EdgePairs* part : {&split.train, &split.validation, &split.test}) {
      for (size_t i = 0; i < part->size(); ++i) {
        known.insert({static_cast<int64_t>(part->sources[i]), type, static_cast<int64_t>(part->destinations[i])});
      }
    }
  }
  return known;
}

// Returns the mean reciprocal rank of the test part, computed from the definition, one candidate after the other.
double MrrByHand(const graph::SourceGraph& source, const LinkScorer& scorer, const torch::Tensor& embeddings,
                 bool filtered) {
  const std::set<Triple> known = KnownTriples(source);
  double sum = 0, count = 0;
  for (const auto& [type, split] : source.edge_splits.at(kTriples)) {
    for (size_t i = 0; i < split.test.size(); ++i) {
      const auto from = static_cast<int64_t>(split.test.sources[i]),
                 to = static_cast<int64_t>(split.test.destinations[i]);
      const std::vector<uint32_t> relation = {type};
      const torch::Tensor scores =
          scorer.ScoreAll(scorer.MakeQueries(embeddings.narrow(0, from, 1), relation), embeddings)[0];
      double rank = 1;
      for (int64_t other = 0; other < embeddings.size(0); ++other) {
        if (other == to || (filtered && known.contains({from, type, other}))) continue;
        const float mine = scores[to].item<float>(), theirs = scores[other].item<float>();
        rank += theirs > mine ? 1 : theirs == mine ? 0.5 : 0;
      }
      sum += 1 / rank;
      ++count;
    }
  }
  return sum / count;
}

// The score of an edge and those of its drawn candidates that count.
struct DrawnScores {
  float own = 0;
  std::vector<float> candidates;
};

// Returns the scores of the test part's edges. As in docs/edge-tasks.md, each edge has its own random stream, which is
// numbered over all edge types.
std::vector<DrawnScores> DrawnByHand(const graph::SourceGraph& source, const LinkScorer& scorer,
                                     const torch::Tensor& embeddings, const LinkEvaluationOptions& options) {
  const std::set<Triple> known = KnownTriples(source);
  const uint64_t key =
      RandomKey(options.seed, RandomPurpose::kCandidates, static_cast<uint32_t>(graph::SplitPartName::kTest));
  std::vector<DrawnScores> drawn;
  uint64_t num_known = 0;
  for (const auto& [type, split] : source.edge_splits.at(kTriples)) {
    for (size_t i = 0; i < split.test.size(); ++i) {
      const auto from = static_cast<int64_t>(split.test.sources[i]);
      const uint64_t to = split.test.destinations[i];
      const std::vector<uint32_t> relation = {type};
      const torch::Tensor scores =
          scorer.Score(scorer.MakeQueries(embeddings.narrow(0, from, 1), relation), embeddings).contiguous();
      std::vector<bool> is_known;
      for (int64_t node = 0; node < embeddings.size(0); ++node) is_known.push_back(known.contains({from, type, node}));
      const float* const score_of = scores.data_ptr<float>();
      DrawnScores edge{.own = score_of[to]};
      for (const uint64_t node : sampler::DrawNodes(key, drawn.size(), kEntities, options.num_candidates)) {
        if (node == to) continue;
        num_known += is_known[node] ? 1 : 0;
        if (!is_known[node] || !options.filtered) edge.candidates.push_back(score_of[node]);
      }
      drawn.push_back(std::move(edge));
    }
  }
  EXPECT_GT(num_known, 0u) << "there is nothing to filter";
  return drawn;
}

double MrrOfDrawn(const std::vector<DrawnScores>& drawn) {
  double sum = 0;
  for (const DrawnScores& edge : drawn) {
    double rank = 1;
    for (const float score : edge.candidates) rank += score > edge.own ? 1 : score == edge.own ? 0.5 : 0;
    sum += 1 / rank;
  }
  return sum / static_cast<double>(drawn.size());
}

// Returns the area under the ROC curve: compares each edge with the candidates of all edges.
double RocAucOfDrawn(const std::vector<DrawnScores>& drawn) {
  double won = 0, pairs = 0;
  for (const DrawnScores& edge : drawn) {
    for (const DrawnScores& other : drawn) {
      for (const float score : other.candidates) won += edge.own > score ? 1 : edge.own == score ? 0.5 : 0;
      pairs += static_cast<double>(other.candidates.size());
    }
  }
  return won / pairs;
}

TEST(KnowledgeGraphTest, FilteredRanksMatchHandComputation) {
  const graph::SourceGraph source = Triples(/*known=*/false);
  job::Training training = TripleJob().training;
  training.inputs = {{"", {"x"}}};
  training.model.hidden_size = 8;
  for (const auto kind : {job::Scorer::kDistMult, job::Scorer::kComplEx, job::Scorer::kTransE}) {
    training.task.scorer = kind;
    for (const bool filtered : {true, false}) {
      const shard::testing::TestGraph opened = shard::testing::MakeTestGraph(source, 3, 7);
      sampler::PartitionedGraph& graph = *opened.graph;
      const GraphAccess access(graph);
      const NodeData data = *MakeTask(training)->MakeData(training, source.schema, graph);
      const sampler::SamplingSpec spec = *MakeSamplingSpec(training.sampling, source.schema, 1);
      ModelOptions model_options{.model = training.model,
                                 .num_layers = 1,
                                 .schema = source.schema,
                                 .input_widths = data.input_widths(),
                                 .num_outputs = data.num_outputs(),
                                 .relations = ListRelations(spec),
                                 .seed_type = data.seed_type(),
                                 .seed = 1};
      const std::shared_ptr<Model> model = *MakeModel(model_options);
      const auto scorer = std::make_shared<LinkScorer>(kind, 6, 8, 3);
      collective::SelfCollective self;
      const Timeouts timeouts{std::chrono::seconds(60), std::chrono::seconds(60)};
      FullInference inference = *FullInference::Make(access, data, spec, self, {16, timeouts});
      LinkEvaluationOptions options;
      options.split = kTriples;
      options.types = (*job::MakeLinkPlan(training.task, source.schema))->types;
      options.filtered = filtered;
      options.seed = 9;
      options.chunk_nodes = 16;  // three blocks of nodes
      options.timeouts = timeouts;
      LinkEvaluation evaluation(access, data, self, options, scorer);
      ASSERT_TRUE(inference.ComputeHidden(*model, "by-hand").ok());
      TensorNames names("by-hand");
      const auto metric = evaluation.ComputeMetric(*model, inference, graph::SplitPartName::kTest, names);
      ASSERT_TRUE(metric.ok() && metric->value.has_value()) << metric.status().ToString();

      // Another part with the same embeddings; then more scores than ROCAUC accepts.
      EXPECT_TRUE(evaluation.ComputeMetric(*model, inference, graph::SplitPartName::kValidation, names).ok());
      EXPECT_TRUE(evaluation.Drop(timeouts.data).ok());
      options.metric = job::Metric::kRocAuc;
      options.num_candidates = 1u << 22;
      LinkEvaluation area(access, data, self, options, scorer);
      EXPECT_EQ(area.ComputeMetric(*model, inference, graph::SplitPartName::kTest, names).status().code(),
                StatusCode::kResourceExhausted);

      const torch::NoGradGuard no_gradients;
      const auto parameters = model->named_parameters();
      const espalier::Tensor& x = source.nodes[0].columns.at("x");
      const torch::Tensor embeddings =
          torch::matmul(ToFloats(x)->clone(), parameters["input.weight"].t()) + parameters["input.bias"];
      EXPECT_NEAR(*metric->value, MrrByHand(source, *scorer, embeddings, filtered), 1e-6)
          << static_cast<int>(kind) << (filtered ? " filtered" : " raw");

      // Among drawn candidates.
      const auto measured = [&](job::Metric drawn_metric) {
        options.metric = drawn_metric;
        LinkEvaluation among_drawn(access, data, self, options, scorer);
        const auto value = among_drawn.ComputeMetric(*model, inference, graph::SplitPartName::kTest, names);
        EXPECT_TRUE(value.ok() && value->value.has_value()) << value.status().ToString();
        EXPECT_TRUE(among_drawn.Drop(timeouts.data).ok());
        return value.ok() ? value->value.value_or(0) : 0;
      };
      SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << (filtered ? " filtered" : " raw"));
      options.num_candidates = 100;
      const std::vector<DrawnScores> drawn = DrawnByHand(source, *scorer, embeddings, options);
      ASSERT_EQ(drawn.size(), 24u);
      EXPECT_NEAR(measured(job::Metric::kMrr), MrrOfDrawn(drawn), 1e-6);
      // Scores that differ only by rounding may change their order.
      EXPECT_NEAR(measured(job::Metric::kRocAuc), RocAucOfDrawn(drawn), 1e-4);
      if (kind != job::Scorer::kDistMult || !filtered) continue;
      options.num_candidates = 12000;  // so that the edges form two chunks
      EXPECT_NEAR(measured(job::Metric::kMrr), MrrOfDrawn(DrawnByHand(source, *scorer, embeddings, options)), 1e-6);
    }
  }
}

}  // namespace
}  // namespace espalier::trainer
