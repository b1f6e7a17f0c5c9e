// Annotations (edges.h) of the functions of absl::Mutex and absl::CondVar that gRPC calls. gRPC uses neither conditions
// of a Mutex nor reader locks.
#include "absl/synchronization/mutex.h"
#include "services/rpc/testing/tsan/edges.h"

using espalier::tsan::Acquire;
using espalier::tsan::Next;
using espalier::tsan::Release;

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static auto* const next = Next<void(Mutex*)>("_ZN4absl7debian35Mutex4LockEv");
  next(this);
  Acquire(this);
}

bool Mutex::TryLock() {
  static auto* const next = Next<bool(Mutex*)>("_ZN4absl7debian35Mutex7TryLockEv");
  const bool locked = next(this);
  if (locked) Acquire(this);
  return locked;
}

void Mutex::Unlock() {
  static auto* const next = Next<void(Mutex*)>("_ZN4absl7debian35Mutex6UnlockEv");
  Release(this);
  next(this);
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const next = Next<void(CondVar*, Mutex*)>("_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
  Release(mutex);
  next(this, mutex);
  Acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static auto* const next =
      Next<bool(CondVar*, Mutex*, Duration)>("_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  Release(mutex);
  const bool timed_out = next(this, mutex, timeout);
  Acquire(mutex);
  return timed_out;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const next =
      Next<bool(CondVar*, Mutex*, Time)>("_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  Release(mutex);
  const bool timed_out = next(this, mutex, deadline);
  Acquire(mutex);
  return timed_out;
}

ABSL_NAMESPACE_END
}  // namespace absl
