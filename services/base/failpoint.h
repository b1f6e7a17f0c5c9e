// Named places in the code where a test can make a process crash, wait or fail. Off, a failpoint costs one relaxed
// load.
//
//   ESPALIER_FAILPOINTS="checkpoint.before_manifest=crash@2;store.get=error:UNAVAILABLE%30;rpc.reply=delay:200ms"
//
// Each entry: name=action[@N][%P]. Actions: crash (SIGKILL to itself), delay:<n>ms, error:<STATUS_CODE>. @N: only the
// Nth time (from 1); %P: P percent of the times, by a generator seeded with the name; without either, every time.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier {

namespace internal {
extern std::atomic<bool> failpoints_armed;  // atomic, because any thread passes failpoints
Status HitFailpoint(std::string_view name);
}  // namespace internal

// Replaces all failpoints by those of `text`; "" disarms. InvalidArgument says which entry is wrong. Thread-safe.
Status ArmFailpoints(const std::string& text);
// As the environment variable ESPALIER_FAILPOINTS says; for mains.
Status ArmFailpointsFromEnvironment();

// ok unless a test has asked for something else at `name`. Thread-safe.
inline Status Failpoint(std::string_view name) {
  if (!internal::failpoints_armed.load(std::memory_order_relaxed)) return Status();
  return internal::HitFailpoint(name);
}

}  // namespace espalier
