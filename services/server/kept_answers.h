// What functions that change tensors have answered, for a client that asks again because an answer was lost.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "services/base/mutex.h"
#include "services/base/tensor.h"
#include "services/server/applied_writes.h"

namespace espalier::server {

// Keeps each answer until its client says that the change is over, or newer ones need the room. Thread-safe.
class KeptAnswers {
 public:
  static constexpr size_t kBytesOfAnAnswer = 256;  // besides its own

  explicit KeptAnswers(size_t max_bytes) : max_bytes_(max_bytes) {}

  void Keep(const AppliedWrites::Number& change, Tensor answer) ABSL_LOCKS_EXCLUDED(mutex_);
  // None: it has been forgotten.
  std::optional<Tensor> Find(const AppliedWrites::Number& change) const ABSL_LOCKS_EXCLUDED(mutex_);
  size_t SizeBytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // client, sequence
  struct Kept {
    Tensor answer;
    std::list<Key>::iterator place;
  };
  using Answers = std::map<Key, Kept>;

  static size_t SizeBytes(const Tensor& answer) { return kBytesOfAnAnswer + answer.size_bytes(); }
  Answers::iterator Erase(Answers::iterator kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  mutable Mutex mutex_;
  Answers answers_ ABSL_GUARDED_BY(mutex_);
  std::list<Key> oldest_first_ ABSL_GUARDED_BY(mutex_);
  size_t size_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::server
