// Tracks the epoch with the best validation metric and decides on early stopping: training ends after several
// evaluations without improvement (Prechelt, "Early Stopping - But When?", 1998).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace espalier::trainer {

// A value type; thread-compatible.
class EarlyStopping {
 public:
  // `patience` is the number of consecutive evaluations without improvement after which training should stop; 0
  // disables early stopping.
  EarlyStopping(bool higher_is_better, int64_t patience) : higher_is_better_(higher_is_better), patience_(patience) {}

  // Restores a state: the values that the accessors below returned when the checkpoint was taken.
  void ResumeFrom(uint32_t best_epoch, std::optional<double> best_value, int64_t evaluations_since_best) {
    best_epoch_ = best_epoch;
    best_value_ = best_value;
    evaluations_since_best_ = evaluations_since_best;
  }

  // Records the metric of an epoch's evaluation. Returns true if it is better than all earlier values; an equal value
  // is not better. NaN is better than no value and worse than any number.
  bool Record(uint32_t epoch, double value) {
    if (!IsBetter(value)) {
      ++evaluations_since_best_;
      return false;
    }
    best_epoch_ = epoch;
    best_value_ = value;
    evaluations_since_best_ = 0;
    return true;
  }

  bool should_stop() const { return patience_ > 0 && evaluations_since_best_ >= patience_; }
  uint32_t best_epoch() const { return best_epoch_; }                      // 0 before the first Record
  const std::optional<double>& best_value() const { return best_value_; }  // at best_epoch
  int64_t evaluations_since_best() const { return evaluations_since_best_; }

 private:
  bool IsBetter(double value) const {
    if (!best_value_.has_value()) return true;
    if (std::isnan(*best_value_)) return !std::isnan(value);
    return higher_is_better_ ? value > *best_value_ : value < *best_value_;
  }

  bool higher_is_better_;
  int64_t patience_;
  uint32_t best_epoch_ = 0;
  std::optional<double> best_value_;
  int64_t evaluations_since_best_ = 0;
};

}  // namespace espalier::trainer
