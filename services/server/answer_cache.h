// Stores the responses of plugin functions that change tensors, so that a repeated request gets the response that was
// lost and the function does not run again.
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

// Keeps the response to a change until a later change of the same client shows that the client will not repeat the
// earlier one (AppliedWrites::Number::lowest_in_flight), or until newer responses need the space. Thread-safe.
class AnswerCache {
 public:
  static constexpr size_t kOverheadBytes = 256;  // bookkeeping overhead of one response

  explicit AnswerCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Stores the response to `change`, in place of an earlier response to the same change. A response that is larger than
  // the cache is not stored.
  void Keep(const AppliedWrites::Number& change, Tensor answer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the response to `change`, or nullopt if it is no longer stored.
  std::optional<Tensor> Find(const AppliedWrites::Number& change) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the bytes of all stored responses, overhead included.
  size_t SizeBytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // client, sequence
  struct Entry {
    Tensor answer;
    std::list<Key>::iterator position;  // in oldest_first_
  };
  using Answers = std::map<Key, Entry>;

  static size_t SizeBytes(const Tensor& answer) { return kOverheadBytes + answer.size_bytes(); }
  Answers::iterator Erase(Answers::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  mutable Mutex mutex_;
  Answers answers_ ABSL_GUARDED_BY(mutex_);
  std::list<Key> oldest_first_ ABSL_GUARDED_BY(mutex_);
  size_t size_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::server
