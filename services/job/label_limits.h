// Limits of the values in label columns.
#pragma once

#include <cstdint>

namespace espalier::job {

// Classes are in [0, kMaxLabelClasses). A larger number in a label column is most likely an id or a hash.
inline constexpr int64_t kMaxLabelClasses = 1'000'000;

}  // namespace espalier::job
