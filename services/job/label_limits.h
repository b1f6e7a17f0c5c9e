// What a label column may hold.
#pragma once

#include <cstdint>

namespace espalier::job {

// Classes lie in [0, kMostClasses): a larger number is an id or a hash that was taken for a class.
inline constexpr int64_t kMostClasses = 1'000'000;

}  // namespace espalier::job
