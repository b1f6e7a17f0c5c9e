// Accuracy and F1 keep integer counts; ROC AUC keeps all scores; mean squared and absolute error, MRR and hits@k keep a
// sum for each chunk. MergeOverRanks gathers the serialized statistics of all trainers and rebuilds the accumulator
// from them in rank order. Counts do not depend on the order, scores are sorted, and chunk sums are added in chunk
// order, so that every rank has the same bits and the value does not depend on the distribution of chunks over ranks.
#include "services/trainer/evaluation/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "services/base/check.h"
#include "services/trainer/evaluation/ranking.h"

namespace espalier::trainer {
namespace {

constexpr const char* kNoLabel = "no row has a label";

// Writes statistics as 64-bit words, which the ranks exchange.
class WordWriter {
 public:
  void Put(uint64_t word) { words_.push_back(word); }
  void Put(const std::vector<uint64_t>& words) { words_.insert(words_.end(), words.begin(), words.end()); }
  std::vector<std::byte> Bytes() const {
    const auto bytes = std::as_bytes(std::span<const uint64_t>(words_));
    return {bytes.begin(), bytes.end()};
  }

 private:
  std::vector<uint64_t> words_;
};

// Reads the words of a WordWriter in the same order.
class WordReader {
 public:
  explicit WordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t Next() {
    ESPALIER_CHECK(bytes_.size() >= sizeof(uint64_t)) << "truncated statistics";
    uint64_t word;
    std::memcpy(&word, bytes_.data(), sizeof(word));
    bytes_ = bytes_.subspan(sizeof(word));
    return word;
  }

 private:
  std::span<const std::byte> bytes_;
};

uint64_t ToBits(double value) { return std::bit_cast<uint64_t>(value); }

bool IsF1(job::Metric metric) { return metric == job::Metric::kMacroF1 || metric == job::Metric::kMicroF1; }

bool IsNan(float value) { return std::isnan(value); }

Status NanError() {
  return InvalidArgument(
      "the model's outputs are NaN or infinite: the features may contain NaN, or the learning rate is too high");
}

}  // namespace

const char* ToString(job::Metric metric) {
  switch (metric) {
    case job::Metric::kAccuracy: return "accuracy";
    case job::Metric::kMacroF1: return "macroF1";
    case job::Metric::kMicroF1: return "microF1";
    case job::Metric::kRocAuc: return "rocAuc";
    case job::Metric::kMeanSquaredError: return "meanSquaredError";
    case job::Metric::kMeanAbsoluteError: return "meanAbsoluteError";
    case job::Metric::kMrr: return "mrr";
    case job::Metric::kHitsAtK: return "hitsAtK";
  }
  return "?";
}

bool HigherIsBetter(job::Metric metric) {
  return metric != job::Metric::kMeanSquaredError && metric != job::Metric::kMeanAbsoluteError;
}

MetricAccumulator::MetricAccumulator(job::Metric metric, int64_t num_outputs)
    : metric_(metric), num_outputs_(num_outputs) {
  if (!IsF1(metric)) return;
  for (auto* counts : {&true_positive_, &predicted_, &positive_}) counts->assign(static_cast<size_t>(num_outputs), 0);
}

void MetricAccumulator::Add(uint64_t chunk, const torch::Tensor& outputs, const torch::Tensor& labels) {
  ESPALIER_CHECK(outputs.dim() == 2 && outputs.size(1) == num_outputs_ && outputs.size(0) == labels.size(0))
      << "shapes of outputs and labels do not match";
  torch::NoGradGuard no_gradient;
  const torch::Tensor rows = outputs.detach().contiguous().cpu();
  const torch::Tensor truth = labels.contiguous().cpu();
  if (!HigherIsBetter(metric_)) {
    AddErrors(chunk, rows, truth);
  } else if (truth.scalar_type() == torch::kInt64) {
    AddClasses(rows, truth);
  } else {
    AddIndicators(rows, truth);
  }
}

void MetricAccumulator::AddClasses(const torch::Tensor& outputs, const torch::Tensor& classes) {
  if (metric_ == job::Metric::kRocAuc) {
    torch::Tensor indicators = torch::full(outputs.sizes(), NAN);
    for (int64_t i = 0; i < classes.numel(); ++i) {
      const int64_t label = classes.data_ptr<int64_t>()[i];
      if (label < 0) continue;
      indicators[i].zero_();
      indicators[i][label] = 1.0f;
    }
    // With two classes one curve is enough: the curves of both classes have the same area.
    const torch::Tensor probabilities = torch::softmax(outputs, 1);
    if (num_outputs_ == 2)
      return AddScores(probabilities.narrow(1, 1, 1).contiguous(), indicators.narrow(1, 1, 1).contiguous());
    return AddScores(probabilities, indicators);
  }
  for (int64_t i = 0; i < classes.numel(); ++i) {
    const int64_t label = classes.data_ptr<int64_t>()[i];
    if (label < 0) continue;
    const float* row = outputs.data_ptr<float>() + i * num_outputs_;
    // Value returns an error if num_nan_ > 0: NaN compares neither larger nor smaller, so that std::max_element returns
    // an arbitrary class.
    num_nan_ += std::any_of(row, row + num_outputs_, IsNan) ? 1 : 0;
    const int64_t guess = std::max_element(row, row + num_outputs_) - row;
    ++num_decisions_;
    num_correct_ += guess == label ? 1 : 0;
    if (!IsF1(metric_)) continue;
    ++predicted_[static_cast<size_t>(guess)];
    ++positive_[static_cast<size_t>(label)];
    if (guess == label) ++true_positive_[static_cast<size_t>(label)];
  }
}

void MetricAccumulator::AddIndicators(const torch::Tensor& outputs, const torch::Tensor& indicators) {
  const torch::Tensor truth = indicators.reshape(outputs.sizes());
  if (metric_ == job::Metric::kRocAuc) return AddScores(outputs, truth);
  for (int64_t i = 0; i < outputs.numel(); ++i) {
    const float value = truth.data_ptr<float>()[i];
    if (std::isnan(value)) continue;
    const float output = outputs.data_ptr<float>()[i];
    const bool label = value > 0.5f, guess = output > 0.0f;
    num_nan_ += IsNan(output) ? 1 : 0;
    ++num_decisions_;
    num_correct_ += guess == label ? 1 : 0;
    if (!IsF1(metric_)) continue;
    const auto column = static_cast<size_t>(i % num_outputs_);
    predicted_[column] += guess ? 1 : 0;
    positive_[column] += label ? 1 : 0;
    true_positive_[column] += guess && label ? 1 : 0;
  }
}

void MetricAccumulator::AddErrors(uint64_t chunk, const torch::Tensor& outputs, const torch::Tensor& targets) {
  ChunkSum result;
  const torch::Tensor truth = targets.reshape(outputs.sizes());
  for (int64_t i = 0; i < outputs.numel(); ++i) {
    const double error = double{outputs.data_ptr<float>()[i]} - double{truth.data_ptr<float>()[i]};
    if (std::isnan(truth.data_ptr<float>()[i])) continue;
    result.sum += metric_ == job::Metric::kMeanSquaredError ? error * error : std::abs(error);
    ++result.count;
  }
  const bool is_new = chunk_sums_.emplace(chunk, result).second;
  ESPALIER_CHECK(is_new) << "chunk " << chunk << " was added twice";
}

void MetricAccumulator::AddScores(const torch::Tensor& probabilities, const torch::Tensor& indicators) {
  const int64_t columns = probabilities.size(1);
  for (int64_t i = 0; i < probabilities.numel(); ++i) {
    const float label = indicators.data_ptr<float>()[i];
    if (std::isnan(label)) continue;
    scores_.push_back({static_cast<uint32_t>(i % columns), label > 0.5f ? 1u : 0u, probabilities.data_ptr<float>()[i]});
  }
}

void MetricAccumulator::AddRanks(uint64_t chunk, std::span<const double> ranks, int64_t k) {
  const double mean = metric_ == job::Metric::kMrr ? MeanReciprocalRank(ranks) : HitsAtK(ranks, k);
  const auto count = static_cast<double>(ranks.size());
  const bool is_new = chunk_sums_.emplace(chunk, ChunkSum{mean * count, ranks.size()}).second;
  ESPALIER_CHECK(is_new) << "chunk " << chunk << " was added twice";
}

std::vector<std::byte> MetricAccumulator::Serialize() const {
  WordWriter out;
  out.Put(num_correct_);
  out.Put(num_decisions_);
  out.Put(num_nan_);
  for (const auto* counts : {&true_positive_, &predicted_, &positive_}) out.Put(*counts);
  out.Put(scores_.size());
  for (const Score& score : scores_) {
    out.Put((uint64_t{score.column} << 33) | (uint64_t{score.positive} << 32) | std::bit_cast<uint32_t>(score.score));
  }
  out.Put(chunk_sums_.size());
  for (const auto& [chunk, sum] : chunk_sums_) {
    out.Put(chunk);
    out.Put(ToBits(sum.sum));
    out.Put(sum.count);
  }
  return out.Bytes();
}

void MetricAccumulator::MergeSerialized(std::span<const std::byte> bytes) {
  WordReader in(bytes);
  num_correct_ += in.Next();
  num_decisions_ += in.Next();
  num_nan_ += in.Next();
  for (auto* counts : {&true_positive_, &predicted_, &positive_}) {
    for (uint64_t& count : *counts) count += in.Next();
  }
  for (uint64_t left = in.Next(); left > 0; --left) {
    const uint64_t word = in.Next();
    scores_.push_back({static_cast<uint32_t>(word >> 33), static_cast<uint32_t>((word >> 32) & 1),
                       std::bit_cast<float>(static_cast<uint32_t>(word))});
  }
  for (uint64_t left = in.Next(); left > 0; --left) {
    const uint64_t chunk = in.Next();
    ChunkSum& mine = chunk_sums_[chunk];
    // If several ranks have rows of the same chunk, their sums are added in rank order.
    mine.sum += std::bit_cast<double>(in.Next());
    mine.count += in.Next();
  }
}

Status MetricAccumulator::MergeOverRanks(collective::Collective& collective, Deadline deadline) {
  std::vector<std::byte> mine = Serialize();
  const uint64_t my_size = mine.size();
  ASSIGN_OR_RETURN(const auto size_bytes, collective.AllGather(std::as_bytes(std::span(&my_size, 1)), deadline));
  std::vector<uint64_t> sizes(collective.size());
  std::memcpy(sizes.data(), size_bytes.data(), sizes.size() * sizeof(uint64_t));
  const uint64_t widest = *std::max_element(sizes.begin(), sizes.end());

  mine.resize(widest);
  ASSIGN_OR_RETURN(const auto all, collective.AllGather(mine, deadline));
  *this = MetricAccumulator(metric_, num_outputs_);
  for (size_t rank = 0; rank < sizes.size(); ++rank)
    MergeSerialized(std::span(all).subspan(rank * widest, sizes[rank]));
  return {};
}

Result<double> MetricAccumulator::Value() const {
  if (num_nan_ > 0) return NanError();
  switch (metric_) {
    case job::Metric::kAccuracy:
      if (num_decisions_ == 0) return FailedPrecondition(kNoLabel);
      return static_cast<double>(num_correct_) / static_cast<double>(num_decisions_);
    case job::Metric::kMacroF1:
    case job::Metric::kMicroF1: return F1();
    case job::Metric::kRocAuc: return RocAuc();
    case job::Metric::kMeanSquaredError:
    case job::Metric::kMeanAbsoluteError:
    case job::Metric::kMrr:
    case job::Metric::kHitsAtK: break;
  }
  ChunkSum total;
  for (const auto& [chunk, sum] : chunk_sums_) {
    total.sum += sum.sum;
    total.count += sum.count;
  }
  if (total.count == 0) return FailedPrecondition(kNoLabel);
  const double mean = total.sum / static_cast<double>(total.count);
  if (!std::isfinite(mean)) return NanError();
  return mean;
}

Result<MetricValue> MetricAccumulator::ValueOrReason() const {
  const Result<double> value = Value();
  if (value.ok()) return MetricValue{*value, ""};
  if (value.status().code() == StatusCode::kFailedPrecondition) return MetricValue{{}, value.status().message()};
  return value.status();
}

Result<double> MetricAccumulator::F1() const {
  if (num_decisions_ == 0) return FailedPrecondition(kNoLabel);
  uint64_t hits = 0, denominator = 0;  // sums over classes: F1 = 2 hits / (predictions + labels)
  double sum = 0;
  uint64_t classes = 0;
  for (size_t c = 0; c < true_positive_.size(); ++c) {
    const uint64_t class_denominator = predicted_[c] + positive_[c];
    hits += true_positive_[c];
    denominator += class_denominator;
    if (class_denominator == 0) continue;
    ++classes;
    sum += 2.0 * static_cast<double>(true_positive_[c]) / static_cast<double>(class_denominator);
  }
  if (metric_ == job::Metric::kMacroF1) return classes == 0 ? 0.0 : sum / static_cast<double>(classes);
  return denominator == 0 ? 0.0 : 2.0 * static_cast<double>(hits) / static_cast<double>(denominator);
}

// Returns the mean over columns of the fraction of (positive, negative) pairs in which the positive one scores higher;
// ties count half, and columns without pairs are skipped. Computed in one pass over each column's scores in descending
// order. Counts are integers, so that the order of equal scores does not matter.
Result<double> MetricAccumulator::RocAuc() const {
  // The scores are merged over ranks, so that all ranks return the same error.
  if (std::any_of(scores_.begin(), scores_.end(), [](const Score& s) { return std::isnan(s.score); })) {
    return NanError();
  }
  std::vector<Score> sorted = scores_;
  std::sort(sorted.begin(), sorted.end(), [](const Score& a, const Score& b) {
    return a.column != b.column ? a.column < b.column : a.score > b.score;
  });
  double sum = 0;
  uint64_t curves = 0;
  for (size_t begin = 0; begin < sorted.size();) {
    uint64_t positives = 0, negatives = 0, twice_won = 0;
    size_t i = begin;
    while (i < sorted.size() && sorted[i].column == sorted[begin].column) {
      uint64_t tied_positives = 0, tied_negatives = 0;
      const float score = sorted[i].score;
      for (; i < sorted.size() && sorted[i].column == sorted[begin].column && sorted[i].score == score; ++i) {
        ++(sorted[i].positive == 1 ? tied_positives : tied_negatives);
      }
      twice_won += tied_negatives * (2 * positives + tied_positives);
      positives += tied_positives;
      negatives += tied_negatives;
    }
    begin = i;
    if (positives == 0 || negatives == 0) continue;
    sum += static_cast<double>(twice_won) / 2.0 / static_cast<double>(positives) / static_cast<double>(negatives);
    ++curves;
  }
  if (scores_.empty()) return FailedPrecondition(kNoLabel);
  if (curves == 0) {
    return FailedPrecondition("no class has both positive and negative labels, which ROCAUC needs");
  }
  return sum / static_cast<double>(curves);
}

}  // namespace espalier::trainer
