// The interface through which an Evaluator computes the metric of any task. NodeEvaluation, EdgeEvaluation and
// LinkEvaluation implement it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "services/trainer/evaluation/full_inference.h"
#include "services/trainer/evaluation/metrics.h"

namespace espalier::trainer {

// Generates names for the tensors that are stored during passes over the graph: "<prefix>-pass0", "<prefix>-pass1", ...
// The names are the same on every rank, because every rank calls Next in the same order. Owned by one thread.
class TensorNames {
 public:
  // `prefix` must differ between runs that share graph servers.
  explicit TensorNames(std::string prefix) : prefix_(std::move(prefix)) {}
  // Returns a name that was not returned before.
  std::string Next() { return prefix_ + "-pass" + std::to_string(num_names_++); }

 private:
  std::string prefix_;
  uint64_t num_names_ = 0;
};

// Owned by one thread. Every rank must call ComputeMetric and Drop in the same order.
class TaskEvaluation {
 public:
  virtual ~TaskEvaluation() = default;

  // Returns the metric on a part of the task's split, the same on every rank. With full neighborhoods, the caller has
  // called inference.ComputeHidden. Tensors that are stored for the rest of the pass have names from `names`.
  virtual Result<MetricValue> ComputeMetric(Model& model, FullInference& inference, graph::SplitPartName part,
                                            TensorNames& names) = 0;
  // Returns the number of rows, as PhaseTracker counts them, that ComputeMetric computes for `parts` in one pass. A
  // part that cannot be read counts as empty, because ComputeMetric returns the error later. Local to a rank.
  virtual uint64_t CountRows(std::span<const graph::SplitPartName> parts) const = 0;
  // Drops stored tensors at the end of a pass. Rank 0 sends the requests, each with the time limit `patience`; the
  // other ranks return at once. The default does nothing, for evaluations that store no tensors.
  virtual Status Drop(std::chrono::seconds /*patience*/) { return Status(); }
};

}  // namespace espalier::trainer
