// Each rank counts its share of the rows; MergeOverRanks sums the counts. For each part, a bitmap records the classes
// that occur, with one bit per class up to the largest class of all ranks (at most 125 kB); it is gathered after the
// largest class is known. For regression, the ranges of the training targets are gathered instead.
#include "services/trainer/data/label_census.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "services/base/check.h"
#include "services/base/pluralize.h"

namespace espalier::trainer {
namespace {

constexpr graph::SplitPartName kParts[] = {graph::SplitPartName::kTrain, graph::SplitPartName::kValidation,
                                           graph::SplitPartName::kTest};
constexpr const char* kPartWords[] = {"training", "validation", "test"};
constexpr size_t kMaxNamedClasses = 5;

size_t ToIndex(graph::SplitPartName part) { return static_cast<size_t>(part); }

void SetBit(int64_t bit, std::vector<uint64_t>* words) {
  const auto word = static_cast<size_t>(bit) / 64;
  if (words->size() <= word) words->resize(word + 1);
  (*words)[word] |= uint64_t{1} << (bit % 64);
}

uint64_t CountBits(const std::vector<uint64_t>& words) {
  uint64_t count = 0;
  for (const uint64_t word : words) count += static_cast<uint64_t>(std::popcount(word));
  return count;
}

// "3, 5, 8, ..."
std::string FirstClasses(const std::vector<uint64_t>& classes) {
  std::string text;
  size_t named = 0;
  for (size_t c = 0; c < classes.size() * 64; ++c) {
    if ((classes[c / 64] >> (c % 64) & 1) == 0) continue;
    if (named++ == kMaxNamedClasses) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(c);
  }
  return text;
}

}  // namespace

LabelCensus::LabelCensus(LossKind kind, std::string split, std::string column, std::string row)
    : kind_(kind), split_(std::move(split)), column_(std::move(column)), row_(std::move(row)) {}

void LabelCensus::Add(graph::SplitPartName part, const torch::Tensor& labels) {
  Part& counts = parts_[ToIndex(part)];
  counts.rows += static_cast<uint64_t>(labels.size(0));
  if (kind_ == LossKind::kCrossEntropy) {
    AddClasses(labels, &counts);
  } else if (labels.numel() > 0) {
    AddValues(part, labels.reshape({labels.size(0), -1}), &counts);
  }
}

void LabelCensus::AddClasses(const torch::Tensor& labels, Part* counts) {
  const torch::Tensor classes = labels.contiguous();
  for (const int64_t value : std::span(classes.data_ptr<int64_t>(), static_cast<size_t>(classes.numel()))) {
    if (value < 0) continue;
    SetBit(value, &counts->classes);
    largest_class_ = std::max(largest_class_, value);
    ++counts->labeled;
  }
}

void LabelCensus::AddValues(graph::SplitPartName part, const torch::Tensor& labels, Part* counts) {
  const torch::Tensor is_label = torch::isnan(labels).logical_not();
  counts->labeled += static_cast<uint64_t>(is_label.any(1).sum().item<int64_t>());
  const int64_t width = labels.size(1);
  largest_class_ = std::max(largest_class_, width - 1);
  if (kind_ == LossKind::kBinaryCrossEntropy) {
    const torch::Tensor has_positive = (labels > 0).any(0).contiguous();
    for (int64_t c = 0; c < width; ++c) {
      if (has_positive.data_ptr<bool>()[c]) SetBit(c, &counts->classes);
    }
  } else if (part == graph::SplitPartName::kTrain) {
    ranges_.resize(static_cast<size_t>(width));
    const torch::Tensor targets = labels.contiguous();
    const std::span values(targets.data_ptr<float>(), static_cast<size_t>(targets.numel()));
    for (size_t i = 0; i < values.size(); ++i) {
      const float value = values[i];
      if (std::isnan(value)) continue;
      Range& range = ranges_[i % ranges_.size()];
      range = {std::min(range.least, value), std::max(range.most, value), range.count + 1};
    }
  }
}

Status LabelCensus::MergeOverRanks(collective::Collective& collective, std::chrono::seconds timeout) {
  std::array<int64_t, 7> own{largest_class_};
  for (size_t part = 0; part < parts_.size(); ++part) {
    own[1 + 2 * part] = static_cast<int64_t>(parts_[part].rows);
    own[2 + 2 * part] = static_cast<int64_t>(parts_[part].labeled);
    parts_[part].rows = parts_[part].labeled = 0;
  }
  ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                   collective.AllGather(std::as_bytes(std::span(own)), Deadline::After(timeout)));
  for (size_t at = 0; at + sizeof(own) <= all.size(); at += sizeof(own)) {
    std::array<int64_t, 7> of_rank;
    std::memcpy(of_rank.data(), all.data() + at, sizeof(of_rank));
    largest_class_ = std::max(largest_class_, of_rank[0]);
    for (size_t part = 0; part < parts_.size(); ++part) {
      parts_[part].rows += static_cast<uint64_t>(of_rank[1 + 2 * part]);
      parts_[part].labeled += static_cast<uint64_t>(of_rank[2 + 2 * part]);
    }
  }
  if (largest_class_ < 0) return Status();
  return kind_ == LossKind::kSquaredError ? MergeRanges(collective, timeout) : MergeClasses(collective, timeout);
}

Status LabelCensus::MergeClasses(collective::Collective& collective, std::chrono::seconds timeout) {
  const size_t words = static_cast<size_t>(largest_class_) / 64 + 1;
  for (Part& part : parts_) {
    part.classes.resize(words);
    ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                     collective.AllGather(std::as_bytes(std::span(part.classes)), Deadline::After(timeout)));
    for (size_t at = 0; at < all.size(); at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, all.data() + at, sizeof(word));
      part.classes[at / sizeof(uint64_t) % words] |= word;
    }
  }
  return Status();
}

Status LabelCensus::MergeRanges(collective::Collective& collective, std::chrono::seconds timeout) {
  ranges_.resize(static_cast<size_t>(largest_class_) + 1);
  ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                   collective.AllGather(std::as_bytes(std::span(ranges_)), Deadline::After(timeout)));
  ranges_.assign(ranges_.size(), Range());  // `all` contains this rank's own ranges too
  for (size_t at = 0; at < all.size(); at += sizeof(Range)) {
    Range of_rank;
    std::memcpy(&of_rank, all.data() + at, sizeof(of_rank));
    Range& range = ranges_[at / sizeof(Range) % ranges_.size()];
    range = {std::min(range.least, of_rank.least), std::max(range.most, of_rank.most), range.count + of_rank.count};
  }
  return Status();
}

Status LabelCensus::CheckTraining() const {
  const Part& train = parts_[ToIndex(graph::SplitPartName::kTrain)];
  if (train.rows == 0 || train.labeled > 0) return Status();
  return InvalidArgument("spec.training.task.label: no training " + row_ + " of split '" + split_ +
                         "' has a label in column '" + column_ + "': all " + std::to_string(train.rows) + " are " +
                         (kind_ == LossKind::kSquaredError ? "NaN" : "-1 or NaN") + ", which means no label");
}

std::vector<std::string> LabelCensus::Warnings() const {
  std::vector<std::string> warnings;
  for (std::string text : {DescribeUnlabeledRows(), DescribeAbsentClasses(), DescribeUntrainedClasses(),
                           DescribeSingleClass(), DescribeConstantTargets()}) {
    if (!text.empty()) warnings.push_back(std::move(text));
  }
  return warnings;
}

// Skips parts without any label: their metric is undefined, which the evaluation reports.
std::string LabelCensus::DescribeUnlabeledRows() const {
  std::string counts;
  for (const graph::SplitPartName name : kParts) {
    const Part& part = parts_[ToIndex(name)];
    if (part.labeled == 0 || part.labeled == part.rows) continue;
    counts += (counts.empty() ? "" : ", ") + std::to_string(part.rows - part.labeled) + " of " +
              Pluralize(part.rows, kPartWords[ToIndex(name)] + std::string(" ") + row_);
  }
  if (counts.empty()) return "";
  return "split '" + split_ + "': " + counts + " have no label in column '" + column_ +
         "': they count neither in the loss nor in metrics";
}

std::string LabelCensus::DescribeAbsentClasses() const {
  if (largest_class_ < 0 || kind_ == LossKind::kSquaredError) return "";
  std::vector<uint64_t> seen(parts_.front().classes.size());
  for (const Part& part : parts_) {
    for (size_t word = 0; word < seen.size(); ++word) seen[word] |= part.classes[word];
  }
  const uint64_t occurring = CountBits(seen);
  if (occurring == static_cast<uint64_t>(num_classes())) return "";
  if (kind_ == LossKind::kBinaryCrossEntropy) {
    std::vector<uint64_t> absent(seen.size());
    for (int64_t c = 0; c < num_classes(); ++c) {
      if ((seen[static_cast<size_t>(c) / 64] >> (c % 64) & 1) == 0) SetBit(c, &absent);
    }
    const uint64_t count = CountBits(absent);
    return "split '" + split_ + "': " + Pluralize(count, "class") + " of the " + std::to_string(num_classes()) +
           " in column '" + column_ + "' occur" + (count == 1 ? "s" : "") + " on no " + row_ + " (" +
           FirstClasses(absent) + "): check the column unless this is intended";
  }
  return "the largest class in column '" + column_ + "' is " + std::to_string(largest_class_) +
         ", so that the labels need " + std::to_string(num_classes()) + " outputs, but only " +
         Pluralize(occurring, "class") + " occur" + (occurring == 1 ? "s" : "") + " in split '" + split_ + "' (" +
         FirstClasses(seen) + "): number the classes from 0 without gaps, unless this is intended";
}

std::string LabelCensus::DescribeUntrainedClasses() const {
  if (largest_class_ < 0 || kind_ == LossKind::kSquaredError) return "";
  std::vector<uint64_t> untrained(parts_.front().classes.size());
  for (size_t word = 0; word < untrained.size(); ++word) {
    untrained[word] = (parts_[1].classes[word] | parts_[2].classes[word]) & ~parts_[0].classes[word];
  }
  const uint64_t count = CountBits(untrained);
  if (count == 0) return "";
  return "split '" + split_ + "': " + Pluralize(count, "class") + " of column '" + column_ + "' occur" +
         (count == 1 ? "s" : "") + " on validation or test " + row_ + "s, but on no training " + row_ + " (" +
         FirstClasses(untrained) + "): a model cannot learn " + (count == 1 ? "it" : "them");
}

std::string LabelCensus::DescribeSingleClass() const {
  if (kind_ != LossKind::kCrossEntropy || CountBits(parts_.front().classes) != 1) return "";
  if (parts_.front().labeled < 2) return "";
  return "split '" + split_ + "': all training " + row_ + "s that have a label have the same class of column '" +
         column_ + "' (" + FirstClasses(parts_.front().classes) + "): a model learns nothing from them";
}

std::string LabelCensus::DescribeConstantTargets() const {
  std::vector<uint64_t> constant;
  for (size_t c = 0; c < ranges_.size(); ++c) {
    if (ranges_[c].count > 1 && ranges_[c].least == ranges_[c].most) SetBit(static_cast<int64_t>(c), &constant);
  }
  if (constant.empty()) return "";
  const std::string which = ranges_.size() == 1 ? ""
                                                : " at " + std::to_string(CountBits(constant)) + " of " +
                                                      std::to_string(ranges_.size()) + " positions of the target (" +
                                                      FirstClasses(constant) + ")";
  return "split '" + split_ + "': all training " + row_ + "s that have a target have the same number in column '" +
         column_ + "'" + which + ": a model learns nothing but that number";
}

}  // namespace espalier::trainer
