// Digits as documents write them, whatever the locale.
#pragma once

namespace espalier::job {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace espalier::job
