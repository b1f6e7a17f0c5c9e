// Figures of merit, accumulated chunk by chunk and merged over ranks so that the result does not depend on who
// computed which chunk: counts are integers, sums are kept per chunk and added in chunk order.
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

// "accuracy", "macroF1", ...: the names in results.
const char* ToString(job::Metric metric);
// False for errors (mean squared, mean absolute): there the smaller value is the better one.
bool HigherIsBetter(job::Metric metric);

// A metric of a part of a split.
struct MetricValue {
  std::optional<double> value;  // none: undefined
  std::string undefined;        // why, of the part's rows: "none has a label"
};

// Thread-compatible. Unlabelled rows (losses.h) do not count.
//   Accuracy   share of rows (multi-label: of entries) predicted right; the prediction is the largest output, or
//              in multi-label tasks every positive one
//   MicroF1    over all (row, class) decisions; MacroF1: mean over classes, of those that occur at all
//   RocAuc     area under the curve, ties counted half; mean over the classes that have both outcomes
//   Mean*Error over all entries
//   MRR        mean of 1 / rank; HitsAtK: share of ranks of at most k (AddRanks)
class MetricAccumulator {
 public:
  MetricAccumulator(job::Metric metric, int64_t num_outputs);

  // Outputs f32 [n, C] and labels as Loss takes them. Every row belongs to exactly one Add over all ranks;
  // `chunk` orders the sums (one rank may add a chunk number once only; chunks are those of the nodes in
  // original-id order).
  void Add(uint64_t chunk, const torch::Tensor& outputs, const torch::Tensor& labels);

  // MRR and HitsAtK: ranks (ranking.h) of a chunk's edges; chunks are those of the edges in the user's order.
  void AddRanks(uint64_t chunk, std::span<const double> ranks, int64_t k);

  // Every rank calls it; afterwards all hold the statistics of all.
  Status MergeOverRanks(collective::Collective& collective, Deadline deadline);

  // FailedPrecondition where nothing was labelled or ranked (or, RocAuc, no class has both outcomes); InvalidArgument
  // where an output that counts is NaN.
  Result<double> Value() const;
  // The same where "undefined" is an answer, not an error.
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
  std::vector<std::byte> Serialized() const;
  void MergeSerialized(std::span<const std::byte> bytes);
  Result<double> RocAuc() const;
  Result<double> F1() const;

  job::Metric metric_;
  int64_t num_outputs_;
  uint64_t right_ = 0, decided_ = 0;                            // Accuracy
  uint64_t no_numbers_ = 0;                                     // Accuracy, F1: of what was decided, on NaN
  std::vector<uint64_t> true_positive_, predicted_, positive_;  // F1, by class
  std::vector<Score> scores_;                                   // RocAuc
  std::map<uint64_t, ChunkSum> chunk_sums_;                     // Mean*Error, MRR, HitsAtK
};

}  // namespace espalier::trainer
