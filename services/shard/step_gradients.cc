#include "services/shard/step_gradients.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "services/base/format_number.h"

namespace espalier::shard {
namespace {

// Returns the memory that a waiting piece takes, in bytes. A piece without rows takes some, too.
uint64_t ComputeSizeBytes(const sampler::GradientPiece& piece) {
  constexpr uint64_t kOverheadBytes = 192;  // one node in each of the two maps
  return sizeof(piece) + kOverheadBytes + piece.gradients.size_bytes() + piece.rows.size() * sizeof(LocalRowId);
}

// Trainers compute the learning rate with cosines and powers of their own C libraries, which may differ in the last
// bit.
bool IsSameRate(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

// Returns text that is parsed as the same number.
std::string FormatExact(double value) { return FormatSignificant(value, 17); }

}  // namespace

Status StepGradients::Add(sampler::GradientPiece piece) {
  const std::string trainer = "trainer " + std::to_string(piece.rank.value);
  if (piece.rank.value >= num_trainers_) {
    return InvalidArgument("gradients of " + trainer + "; there are " + std::to_string(num_trainers_) + " trainers");
  }
  const auto known = ranks_.find(piece.rank.value);
  const bool other_count = known != ranks_.end() && known->second.num_pieces != piece.num_pieces;
  if (piece.piece >= piece.num_pieces || other_count) {
    return InvalidArgument(
        "piece " + std::to_string(piece.piece) + " of " + std::to_string(piece.num_pieces) + " of " + trainer +
        (other_count ? ", which announced " + std::to_string(known->second.num_pieces) + " pieces before"
                     : ": pieces are numbered from 0"));
  }
  const bool is_first = ranks_.empty();
  if (!std::isfinite(piece.learning_rate) || (!is_first && !IsSameRate(piece.learning_rate, learning_rate_))) {
    return InvalidArgument(trainer + " sends learning rate " + FormatExact(piece.learning_rate) + " for step " +
                           std::to_string(piece.step) + (is_first ? "" : ", expected " + FormatExact(learning_rate_)));
  }
  if (known != ranks_.end() && known->second.pieces.contains(piece.piece)) return Status();
  if (num_gradients_ + piece.rows.size() > UINT32_MAX) {
    return ResourceExhausted("step " + std::to_string(piece.step) + " has 2^32 gradients or more");
  }
  const uint64_t size_bytes = ComputeSizeBytes(piece);
  if (!budget_->TryReserve(size_bytes)) {
    return ResourceExhausted("gradients of " + trainer + " need " + std::to_string(size_bytes) + " bytes; " +
                             std::to_string(budget_->reserved()) + " of the " + std::to_string(budget_->limit()) +
                             " bytes for gradients that wait for a step are in use");
  }
  if (is_first || piece.rank.value < ranks_.begin()->first) learning_rate_ = piece.learning_rate;
  size_bytes_ += size_bytes;
  num_gradients_ += piece.rows.size();
  RankGradients& of_rank = ranks_[piece.rank.value];
  of_rank.num_pieces = piece.num_pieces;
  const uint32_t number = piece.piece;
  of_rank.pieces.emplace(number, std::move(piece));
  if (of_rank.pieces.size() == of_rank.num_pieces) ++num_complete_;
  return Status();
}

bool StepGradients::HasAllPieces(Rank rank) const {
  const auto known = ranks_.find(rank.value);
  return known != ranks_.end() && known->second.pieces.size() == known->second.num_pieces;
}

std::vector<RowGradients> StepGradients::GetOrdered() const {
  std::vector<RowGradients> gradients;
  for (const auto& [rank, of_rank] : ranks_) {
    for (const auto& [number, piece] : of_rank.pieces) {
      if (piece.rows.empty()) continue;
      gradients.push_back({piece.rows, piece.gradients.values<float>().data()});
    }
  }
  return gradients;
}

}  // namespace espalier::shard
