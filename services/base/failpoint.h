// Failpoints: named places in the code where a test can make a process crash, wait or fail. While none is armed, each
// costs one relaxed load.
//
//   ESPALIER_FAILPOINTS="checkpoint.before_manifest=crash@2;store.get=error:UNAVAILABLE%30;server.reply=delay:200ms"
//
// Each entry has the form name=action[@N][%P]. Actions are crash (the process sends itself SIGKILL), delay:<n>ms and
// error:<STATUS_CODE>. Each time that a thread reaches the place is a hit; hits are numbered from 1. With @N, only hit
// N triggers the action. With %P, P percent of the hits do, chosen by a hash of the name and the number of the hit; %P
// has no effect beside @N. Without @N and %P, every hit does.
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

// Replaces all failpoints with those in `text`; "" disarms all. InvalidArgument names the invalid entry. Thread-safe.
Status ArmFailpoints(const std::string& text);
// Arms the failpoints listed in the environment variable ESPALIER_FAILPOINTS. Called by main functions.
Status ArmFailpointsFromEnvironment();

// Performs the action armed for `name`, if any. Returns OK unless that action is an error. Thread-safe.
inline Status Failpoint(std::string_view name) {
  if (!internal::failpoints_armed.load(std::memory_order_relaxed)) return Status();
  return internal::HitFailpoint(name);
}

}  // namespace espalier
