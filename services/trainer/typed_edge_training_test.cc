// Labels of edges between two node types, from a document to predictions. Trainers are threads, and all partitions are
// in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/source/npy_file.h"
#include "services/graph/preprocess.h"
#include "services/storage/testing/temporary_folder.h"
#include "services/trainer/testing/small_runs.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

constexpr char kScored[] = "scored";
constexpr uint64_t kViewers = 70, kFilms = 90, kViewsOfAViewer = 18, kGenres = 4;

int64_t ComputeScore(uint64_t viewer, uint64_t film) {
  return static_cast<int64_t>((viewer % kGenres + 2 * (film % kGenres)) % 3);
}

// Returns `count` nodes, whose features are the one-hot encoding of their number modulo kGenres.
graph::NodeSet Genres(uint64_t count) {
  Tensor features = Tensor::Zeros(DType::kF32, {static_cast<int64_t>(count), static_cast<int64_t>(kGenres)});
  for (uint64_t i = 0; i < count; ++i) features.mutable_values<float>()[i * kGenres + i % kGenres] = 1;
  return {.count = count, .columns = {{"genre", features}}};
}

// A graph in which viewers score films, each at most once. A score is a function of the genres of both endpoints. Of
// ten edges, one is a validation edge and two are test edges. Includes the reverse relation.
graph::SourceGraph Cinema() {
  graph::SourceGraph source;
  source.name = "cinema";
  source.schema = *graph::GraphSchema::Make({"film", "viewer"}, {{"viewer", "scores", "film"}});
  source.nodes = {Genres(kFilms), Genres(kViewers)};
  std::vector<uint64_t> viewers, films;
  std::vector<int64_t> scores;
  graph::EdgeSplit& split = source.edge_splits[kScored][0];
  for (uint64_t i = 0; i < kViewers * kViewsOfAViewer; ++i) {
    viewers.push_back(i / kViewsOfAViewer);
    films.push_back((31 * viewers.back() + 7 * (i % kViewsOfAViewer)) % kFilms);
    scores.push_back(ComputeScore(viewers.back(), films.back()));
    const uint64_t place = i * 7919 % 10;
    graph::EdgePairs& part = place < 7 ? split.train : place < 8 ? split.validation : split.test;
    part.sources.push_back(viewers.back());
    part.destinations.push_back(films.back());
  }
  source.edges.push_back({.sources = Tensor::FromVector(std::move(viewers)),
                          .destinations = Tensor::FromVector(std::move(films)),
                          .columns = {{"score", Tensor::FromVector(std::move(scores))}},
                          .original_ids = {}});
  return *graph::Preprocess(std::move(source), {.add_reverse_edges = true}, 1);
}

const graph::SourceGraph& CinemaOnce() {
  static const graph::SourceGraph* const graph = new graph::SourceGraph(Cinema());
  return *graph;
}

job::DistTraining ScoreJob() {
  job::DistTraining job;
  job.name = "cinema";
  job.training.task.type = job::TaskType::kEdgeClassification;
  job.training.task.split = kScored;
  job.training.task.label = "score";
  job.training.task.edge_type = "viewer:scores:film";
  job.training.task.reverse_edges_added = true;
  job.training.inputs = {{"film", {"genre"}}, {"viewer", {"genre"}}};
  job.training.model.hidden_size = 16;
  job.training.model.dropout = 0;
  job.training.sampling.layers = {{5, {}}};
  job.training.batch_size = 128;
  job.training.epochs = 2;
  job.training.seed = 1;
  job.training.evaluation.metric = job::Metric::kAccuracy;
  return job;
}

TrainOutcome TrainCinema(const job::DistTraining& job, const SmallRun& run = {}) {
  return TrainSmall(CinemaOnce(), job, run);
}

// Both relations: from viewers to films, and the reverse one, whose source type has the lower id.
TEST(TypedEdgeTrainingTest, GivesTheSameBitsForAnyPartitioningAndTheSameStepsForAnyTrainers) {
  for (const char* const edge_type : {"viewer:scores:film", "film:rev_scores:viewer"}) {
    for (const auto exclude : {job::ExcludeEdges::kNone, job::ExcludeEdges::kReverseEdges}) {
      job::DistTraining job = ScoreJob();
      job.training.task.edge_type = edge_type;
      job.training.task.exclude = exclude;
      const TrainOutcome one = TrainCinema(job);
      ASSERT_TRUE(one.test.has_value());
      const TrainOutcome four = TrainCinema(job, {.partitions = 4});
      EXPECT_EQ(four.parameters_digest, one.parameters_digest);
      EXPECT_EQ(four.test, one.test);
      const TrainOutcome two = TrainCinema(job, {.partitions = 2, .trainers = 2});
      ASSERT_EQ(two.loop.first_epoch_losses.size(), one.loop.first_epoch_losses.size());
      for (size_t step = 0; step < one.loop.first_epoch_losses.size(); ++step) {
        EXPECT_NEAR(two.loop.first_epoch_losses[step] / one.loop.first_epoch_losses[step], 1.0, 1e-4);
      }
    }
  }
}

TEST(TypedEdgeTrainingTest, ExcludedEdgesAreNotSampled) {
  job::DistTraining job = ScoreJob();
  job.training.sampling.layers = {{-1, {}}};
  const TrainOutcome none = TrainCinema(job);
  job.training.task.exclude = job::ExcludeEdges::kSelf;
  const TrainOutcome self = TrainCinema(job);
  EXPECT_NE(self.parameters_digest, none.parameters_digest);
  job.training.task.exclude = job::ExcludeEdges::kReverseEdges;
  EXPECT_NE(TrainCinema(job).parameters_digest, self.parameters_digest);
}

Tensor ReadResult(const std::string& output, const std::string& file) {
  const Result<Tensor> array = format::ReadNpy(output + "/results/000001/" + file);
  ESPALIER_CHECK(array.ok()) << array.status().ToString();
  return *array;
}

TEST(TypedEdgeTrainingTest, LearnsAndWritesPredictionsUnderTheIdsOfBothTypes) {
  job::DistTraining job = ScoreJob();
  job.training.epochs = 90;
  job.training.evaluation.every_epochs = 30;
  job.output_save = {job::OutputKind::kModel, job::OutputKind::kEmbeddings, job::OutputKind::kPredictions};
  const storage::TemporaryFolder folder;
  const std::string output = folder.path() + "/trained";
  const TrainOutcome outcome = TrainCinema(job, {.partitions = 3, .output = output});
  ASSERT_TRUE(outcome.test.has_value());
  EXPECT_GT(*outcome.test, 0.6);  // the most frequent class has a little more than a third

  const graph::GraphSchema& schema = CinemaOnce().schema;
  const EdgeTypeId scores = *schema.FindEdgeType("scores");
  const graph::EdgePairs& test = CinemaOnce().edge_splits.at(kScored).at(scores.value).test;
  const Tensor sources = ReadResult(output, "predictions/test/sources.npy");
  const Tensor destinations = ReadResult(output, "predictions/test/destinations.npy");
  const Tensor values = ReadResult(output, "predictions/test/values.npy");
  ASSERT_EQ(values.num_rows(), static_cast<int64_t>(test.size()));
  int64_t right = 0;
  for (size_t i = 0; i < test.size(); ++i) {
    ASSERT_EQ(sources.ValueAsInt(static_cast<int64_t>(i)), static_cast<int64_t>(test.sources[i]));
    ASSERT_EQ(destinations.ValueAsInt(static_cast<int64_t>(i)), static_cast<int64_t>(test.destinations[i]));
    right += values.values<int64_t>()[i] == ComputeScore(test.sources[i], test.destinations[i]) ? 1 : 0;
  }
  EXPECT_DOUBLE_EQ(*outcome.test, static_cast<double>(right) / static_cast<double>(test.size()));
  EXPECT_EQ(ReadResult(output, "embeddings/film/values.npy").num_rows(), static_cast<int64_t>(kFilms));
  EXPECT_EQ(ReadResult(output, "embeddings/viewer/values.npy").num_rows(), static_cast<int64_t>(kViewers));

  // Applying the saved model gives the same metric.
  job.training.model.uri = output + "/results/000001/model/best.safetensors";
  job.training.epochs = 0;
  EXPECT_EQ(TrainCinema(job, {.partitions = 2}).test, outcome.test);
}

TEST(TypedEdgeTrainingTest, RefusesAmbiguousEdgeTypeAndWrongReverse) {
  job::DistTraining job = ScoreJob();
  job.training.task.edge_type.clear();  // ambiguous: the graph has two
  EXPECT_THAT(RunSmall(CinemaOnce(), job).status().message(), HasSubstr("spec.training.task.edgeType"));
  job = ScoreJob();
  job.training.task.reverse_edges_added = false;
  job.training.task.exclude = job::ExcludeEdges::kReverseEdges;
  job.training.task.reverse_edge_type = "viewer:scores:film";
  EXPECT_THAT(RunSmall(CinemaOnce(), job).status().message(),
              HasSubstr("does not reverse the node types of 'viewer:scores:film'"));
}

}  // namespace
}  // namespace espalier::trainer
