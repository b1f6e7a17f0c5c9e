// Counts the labels of a split before training, so that missing or implausible labels are reported once, for each part,
// instead of being discovered through a loss of 0.
#pragma once

#include <torch/torch.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/graph/partition.h"
#include "services/trainer/ops/losses.h"

namespace espalier::trainer {

// Every rank adds its share of the rows, then all ranks merge their counts. Owned by one thread.
class LabelCensus {
 public:
  // Messages name `split`, the label column `column`, and `row`, the word for a row: "node" or "edge".
  LabelCensus(LossKind kind, std::string split, std::string column, std::string row);

  // Counts `labels`, which have the form that losses.h expects: classes i64 [n], otherwise f32 [n, C] with the same C
  // on all ranks. Classes must be below job::kMaxLabelClasses.
  void Add(graph::SplitPartName part, const torch::Tensor& labels);
  // Sums the counts over ranks. Every rank must call it exactly once. The accessors below are valid afterwards.
  Status MergeOverRanks(collective::Collective& collective, std::chrono::seconds timeout);

  // For kCrossEntropy, returns the largest class plus one, or 0 if there is no label. For other losses, returns the
  // number of values per label, or 0 if there are no rows.
  int64_t num_classes() const { return largest_class_ + 1; }

  // Returns InvalidArgument if the training part has rows but no labels.
  Status CheckTraining() const;
  // Returns a warning for each of the following that applies: rows without a label in parts that have labels; classes
  // that do not occur; classes that only validation or test rows have; the same class in all labeled training rows (at
  // least two), or for kSquaredError the same target at some position of their labels.
  std::vector<std::string> Warnings() const;

 private:
  struct Part {
    uint64_t rows = 0, labeled = 0;
    std::vector<uint64_t> classes;  // bitmap: bit c % 64 of word c / 64 is set if a row has class c
  };
  // The number and range of the training targets at one position of the labels, for kSquaredError.
  struct Range {
    float least = std::numeric_limits<float>::infinity(), most = -std::numeric_limits<float>::infinity();
    uint64_t count = 0;
  };

  void AddClasses(const torch::Tensor& labels, Part* counts);
  void AddValues(graph::SplitPartName part, const torch::Tensor& labels, Part* counts);

  Status MergeClasses(collective::Collective& collective, std::chrono::seconds timeout);
  Status MergeRanges(collective::Collective& collective, std::chrono::seconds timeout);
  // Each returns a text of Warnings(), or "" if it does not apply.
  std::string DescribeUnlabeledRows() const;
  std::string DescribeAbsentClasses() const;
  std::string DescribeUntrainedClasses() const;
  std::string DescribeSingleClass() const;
  std::string DescribeConstantTargets() const;

  LossKind kind_;
  std::string split_, column_, row_;
  int64_t largest_class_ = -1;  // unless kCrossEntropy: number of values per label, minus one
  std::vector<Range> ranges_;   // by position
  std::array<Part, 3> parts_;   // by SplitPartName
};

}  // namespace espalier::trainer
