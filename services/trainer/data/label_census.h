// Counts the labels of a split before training, so that labels that are missing or implausible are reported once, by
// part, and not guessed from a loss of 0.
#pragma once

#include <torch/torch.h>

#include <array>
#include <chrono>
#include <cstdint>
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

  // Labels as Loss takes them: classes i64 [n], else f32 [n, C]. Classes must be below job::kMostClasses.
  void Add(graph::SplitPartName part, const torch::Tensor& labels);
  // Every rank calls it once; afterwards all hold the counts of all.
  Status MergeOverRanks(collective::Collective& collective, std::chrono::seconds timeout);

  // The largest class plus one; 0 where there is none, and for other kinds.
  int64_t num_classes() const { return largest_class_ + 1; }
  int64_t largest_class() const { return largest_class_; }

  // InvalidArgument where the training part has rows and none has a label.
  Status CheckTraining() const;
  // What surprises and is no error: rows without a label in parts that have labels; classes that do not occur; classes
  // that only validation or test rows have. One text each.
  std::vector<std::string> Warnings() const;

 private:
  struct Part {
    uint64_t rows = 0, labelled = 0;
    std::vector<uint64_t> classes;  // bit c % 64 of word c / 64: whether class c occurs
  };

  Status MergeClasses(collective::Collective& collective, std::chrono::seconds timeout);
  std::string UnlabelledText() const;
  std::string AbsentText() const;
  std::string UntrainedText() const;
  std::string OneClassText() const;

  LossKind kind_;
  std::string split_, column_, row_;
  int64_t largest_class_ = -1;
  std::array<Part, 3> parts_;  // by SplitPartName
};

}  // namespace espalier::trainer
