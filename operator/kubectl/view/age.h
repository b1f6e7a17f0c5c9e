// Formats ages as kubectl does: "7s", "3m20s", "5h", "12d", "2y70d".
#pragma once

#include <chrono>
#include <string>

#include "operator/kube/time.h"

namespace espalier::ctl::view {

// Returns the age of `then`. A time in the future (another machine's clock) is "0s".
std::string AgeText(kube::WallTime then, kube::WallTime now);

}  // namespace espalier::ctl::view
