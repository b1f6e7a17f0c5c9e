// Counts the labels of a split before training, so that labels that are missing or implausible are reported once, by
// part, and not guessed from a loss of 0.
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

// Owned by one thread. Every rank adds its share of rows, then all merge.
class LabelCensus {
 public:
  // `row`: what has a label, "node" or "edge", for messages.
  LabelCensus(LossKind kind, std::string split, std::string column, std::string row);

  // Labels as Loss takes them: classes i64 [n], else f32 [n, C], with the same C on all ranks. Classes must be below
  // job::kMostClasses.
  void Add(graph::SplitPartName part, const torch::Tensor& labels);
  // Every rank calls it once; afterwards all hold the counts of all.
  Status MergeOverRanks(collective::Collective& collective, std::chrono::seconds timeout);

  // The largest class plus one, for kCrossEntropy; 0 where there is none.
  int64_t num_classes() const { return largest_class_ + 1; }

  // InvalidArgument where the training part has rows and none has a label.
  Status CheckTraining() const;
  // What surprises and is no error: rows without a label in parts that have labels; classes that do not occur; classes
  // that only validation or test rows have; training rows with the same class or target. One text each.
  std::vector<std::string> Warnings() const;

 private:
  struct Part {
    uint64_t rows = 0, labelled = 0;
    std::vector<uint64_t> classes;  // bit c % 64 of word c / 64: whether class c occurs; of several, as a positive
  };
  // Of the training rows, for kSquaredError; by column.
  struct Range {
    float least = std::numeric_limits<float>::infinity(), most = -std::numeric_limits<float>::infinity();
  };

  void AddClasses(const torch::Tensor& labels, Part* counts);
  void AddColumns(graph::SplitPartName part, const torch::Tensor& labels, Part* counts);

  Status MergeClasses(collective::Collective& collective, std::chrono::seconds timeout);
  Status MergeRanges(collective::Collective& collective, std::chrono::seconds timeout);
  std::string UnlabelledText() const;
  std::string AbsentText() const;
  std::string UntrainedText() const;
  std::string OneClassText() const;
  std::string OneTargetText() const;

  LossKind kind_;
  std::string split_, column_, row_;
  int64_t largest_class_ = -1;  // or column, of labels with several
  std::vector<Range> ranges_;
  std::array<Part, 3> parts_;  // by SplitPartName
};

}  // namespace espalier::trainer
