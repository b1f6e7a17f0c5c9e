#include "services/trainer/checkpoint/checkpoint_intake.h"

#include <utility>

namespace espalier::trainer {
namespace {

size_t CountBytes(const format::Safetensors& piece) {
  size_t bytes = 0;
  for (const auto& [name, tensor] : piece.tensors) bytes += tensor.size_bytes();
  return bytes;
}

}  // namespace

Result<bool> CheckpointIntake::Give(const format::Safetensors& piece, Deadline deadline) {
  const size_t bytes = CountBytes(piece);
  MutexLock lock(&mutex_);
  const bool has_room = mutex_.AwaitBefore(deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !failed_.ok() || bytes_ == 0 || bytes_ + bytes <= max_bytes_;
  });
  RETURN_IF_ERROR(failed_);
  if (!has_room) return false;
  pieces_.push_back(piece);
  bytes_ += bytes;
  return true;
}

void CheckpointIntake::End(std::optional<LoopSnapshot> snapshot) {
  MutexLock lock(&mutex_);
  has_ended_ = true;
  is_abandoned_ = !snapshot.has_value();
  if (is_abandoned_) DiscardPieces();
  snapshot_ = std::move(snapshot);
}

std::optional<format::Safetensors> CheckpointIntake::NextPiece() {
  MutexLock lock(&mutex_);
  bytes_ -= std::exchange(bytes_under_way_, 0);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return has_ended_ || !pieces_.empty(); });
  if (pieces_.empty()) return std::nullopt;
  std::optional<format::Safetensors> piece(std::move(pieces_.front()));
  pieces_.pop_front();
  bytes_under_way_ = CountBytes(*piece);
  return piece;
}

void CheckpointIntake::Fail(Status why) {
  MutexLock lock(&mutex_);
  failed_ = std::move(why);
  DiscardPieces();
}

void CheckpointIntake::DiscardPieces() {
  pieces_.clear();
  bytes_ = bytes_under_way_;
}

bool CheckpointIntake::IsAbandoned() const {
  MutexLock lock(&mutex_);
  return is_abandoned_;
}

std::optional<LoopSnapshot> CheckpointIntake::TakeSnapshot() {
  MutexLock lock(&mutex_);
  return std::exchange(snapshot_, std::nullopt);
}

}  // namespace espalier::trainer
