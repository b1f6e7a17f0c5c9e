// Metrics, accumulated chunk by chunk and merged over trainers. The result does not depend on which trainer computed
// which chunk: counts are integers, and sums are kept for each chunk and added in chunk order.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/collective/collective.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

// Returns the name of a metric in results: "accuracy", "macroF1", ...
const char* ToString(job::Metric metric);
// Returns false for errors (mean squared, mean absolute), where smaller values are better.
bool HigherIsBetter(job::Metric metric);

// The value of a metric on a part of a split.
struct MetricValue {
  std::optional<double> value;  // nullopt: undefined
  std::string undefined;        // why it is undefined, as a clause: "no row has a label"
};

// Accumulates one metric. Thread-compatible. Unlabeled rows (losses.h) do not count.
//   Accuracy    fraction of correct rows (multi-label: of entries); the predicted class is the one with the largest
//               output, or in multi-label tasks each class with a positive output
//   MicroF1     F1 score of all (row, class) decisions together
//   MacroF1     mean of the F1 scores of the classes that occur as a label or a prediction
//   RocAuc      area under the ROC curve, ties count half; mean over the classes with positive and negative labels
//   Mean*Error  mean over all entries
//   MRR         mean of 1 / r, where r is the rank of an edge among its candidates (AddRanks)
//   HitsAtK     fraction of the edges whose rank among their candidates is at most k (AddRanks)
class MetricAccumulator {
 public:
  // `num_outputs` is the number C of the model's outputs; 1 for link prediction.
  MetricAccumulator(job::Metric metric, int64_t num_outputs);

  // Adds outputs f32 [n, C] and labels as losses.h expects them. Over all trainers, each row must be added exactly
  // once. `chunk` determines the order of the sums: it numbers the chunks of nodes in original-id order, or of edges in
  // the user's order. A trainer may add each chunk only once.
  void Add(uint64_t chunk, const torch::Tensor& outputs, const torch::Tensor& labels);

  // Adds the ranks of a chunk's edges among their candidates (ranking.h), for MRR and HitsAtK. `chunk` numbers the
  // chunks of edges in the user's order.
  void AddRanks(uint64_t chunk, std::span<const double> ranks, int64_t k);

  // Merges the statistics of all trainers, so that all have the same statistics. Every trainer must call it.
  Status MergeOverRanks(collective::Collective& collective, Deadline deadline);

  // Returns the metric. FailedPrecondition if there was no labeled row or ranked edge or, for RocAuc, if no class has
  // both positive and negative labels. InvalidArgument if the rank of an edge or an output of a labeled row is NaN,
  // or if the mean error is infinite.
  Result<double> Value() const;
  // Like Value, but returns FailedPrecondition as an undefined value instead of an error.
  Result<MetricValue> ValueOrReason() const;

 private:
  struct ChunkSum {
    double sum = 0;
    uint64_t count = 0;
  };
  struct Score {
    uint32_t column;
    uint32_t positive;
    float score;
  };

  void AddClasses(const torch::Tensor& outputs, const torch::Tensor& classes);
  void AddIndicators(const torch::Tensor& outputs, const torch::Tensor& indicators);
  void AddErrors(uint64_t chunk, const torch::Tensor& outputs, const torch::Tensor& targets);
  void AddScores(const torch::Tensor& probabilities, const torch::Tensor& indicators);
  std::vector<std::byte> Serialize() const;
  void MergeSerialized(std::span<const std::byte> bytes);
  Result<double> RocAuc() const;
  Result<double> F1() const;

  job::Metric metric_;
  int64_t num_outputs_;
  uint64_t num_correct_ = 0, num_decisions_ = 0;                // Accuracy, F1
  uint64_t num_nan_ = 0;                                        // Accuracy, F1: decisions whose outputs are NaN
  std::vector<uint64_t> true_positive_, predicted_, positive_;  // F1, by class
  std::vector<Score> scores_;                                   // RocAuc
  std::map<uint64_t, ChunkSum> chunk_sums_;                     // Mean*Error, MRR, HitsAtK
};

}  // namespace espalier::trainer
