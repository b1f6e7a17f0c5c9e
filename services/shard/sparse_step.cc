#include "services/shard/sparse_step.h"

#include <algorithm>
#include <array>
#include <bit>

#include "services/base/check.h"

namespace espalier::shard {
namespace {

constexpr size_t kPrefetchDistance = 8;
constexpr size_t kFloatsPerCacheLine = 16;
constexpr unsigned kDigitBits = 11;

void PrefetchFloats(const float* values, size_t count, bool for_writing) {
  for (size_t i = 0; i < count; i += kFloatsPerCacheLine) {
    if (for_writing) {
      __builtin_prefetch(values + i, 1);
    } else {
      __builtin_prefetch(values + i, 0);
    }
  }
}

}  // namespace

void RoundRow(const LearnableTable& table, uint64_t row) {
  if (table.rounded == nullptr) return;
  const float* values = table.weights.row(row);
  uint16_t* rounded = table.rounded + row * table.width;
  if (table.rounded_dtype == DType::kF16) {
    for (size_t i = 0; i < table.width; ++i) rounded[i] = FloatToHalf(values[i]);
  } else {
    for (size_t i = 0; i < table.width; ++i) rounded[i] = FloatToBFloat16(values[i]);
  }
}

// Least-significant-digit radix sort. It is stable, so a row's gradients stay in the order of ranks and positions.
void SparseStep::OrderByRow(uint64_t num_rows, std::span<const RowGradients> gradients) {
  order_.clear();
  first_number_.clear();
  for (const RowGradients& part : gradients) {
    first_number_.push_back(static_cast<uint32_t>(order_.size()));
    for (const LocalRowId row : part.rows) order_.push_back({row.value, static_cast<uint32_t>(order_.size())});
  }
  ESPALIER_CHECK(order_.size() <= UINT32_MAX) << "2^32 gradients in one step";
  spare_.resize(order_.size());
  const auto row_bits = static_cast<unsigned>(std::bit_width(num_rows));
  for (unsigned shift = 0; shift < row_bits; shift += kDigitBits) {
    constexpr uint32_t kDigits = 1u << kDigitBits;
    std::array<uint32_t, kDigits + 1> first{};
    for (const Contribution& c : order_) ++first[((c.row >> shift) & (kDigits - 1)) + 1];
    for (uint32_t digit = 0; digit < kDigits; ++digit) first[digit + 1] += first[digit];
    for (const Contribution& c : order_) spare_[first[(c.row >> shift) & (kDigits - 1)]++] = c;
    order_.swap(spare_);
  }
}

const float* SparseStep::FindGradient(uint32_t number, std::span<const RowGradients> gradients, size_t width) const {
  size_t part = 0;
  if (first_number_.size() > 1) {
    // The last part that begins at or before the number (an empty part begins where the next one does).
    const auto after = std::upper_bound(first_number_.begin(), first_number_.end(), number);
    part = static_cast<size_t>(after - first_number_.begin()) - 1;
  }
  return gradients[part].gradients + size_t{number - first_number_[part]} * width;
}

const float* SparseStep::CombineGradients(size_t begin, size_t end, sampler::DuplicateGradients duplicates,
                                          std::span<const RowGradients> gradients) {
  const size_t width = sum_.size();
  const float* first = FindGradient(order_[begin].number, gradients, width);
  if (end - begin == 1) return first;
  std::copy_n(first, width, sum_.data());
  for (size_t i = begin + 1; i < end; ++i) {
    const float* __restrict next = FindGradient(order_[i].number, gradients, width);
    float* __restrict sum = sum_.data();
    for (size_t j = 0; j < width; ++j) sum[j] += next[j];
  }
  if (duplicates == sampler::DuplicateGradients::kMean) {
    const auto count = static_cast<float>(end - begin);
    for (float& value : sum_) value /= count;
  }
  return sum_.data();
}

uint64_t SparseStep::Apply(const RowUpdate& update, sampler::DuplicateGradients duplicates, const LearnableTable& table,
                           std::span<const RowGradients> gradients) {
  OrderByRow(table.num_rows, gradients);
  sum_.resize(table.width);
  const auto prefetch = [&](size_t i) {
    PrefetchFloats(table.weights.row(order_[i].row), table.width, /*for_writing=*/true);
    PrefetchFloats(table.state.row(order_[i].row), table.state_width, /*for_writing=*/true);
    PrefetchFloats(FindGradient(order_[i].number, gradients, table.width), table.width, /*for_writing=*/false);
  };
  for (size_t i = 0; i < std::min(kPrefetchDistance, order_.size()); ++i) prefetch(i);
  uint64_t num_changed = 0;
  for (size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
    const uint32_t row = order_[begin].row;
    ESPALIER_CHECK(row < table.num_rows) << "row " << row << " of " << table.num_rows;
    for (end = begin; end < order_.size() && order_[end].row == row; ++end) {
      if (end + kPrefetchDistance < order_.size()) prefetch(end + kPrefetchDistance);
    }
    update.Apply(table.weights.row(row), table.state.row(row), CombineGradients(begin, end, duplicates, gradients));
    RoundRow(table, row);
    ++num_changed;
  }
  return num_changed;
}

}  // namespace espalier::shard
