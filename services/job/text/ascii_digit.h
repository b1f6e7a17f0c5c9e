// A digit test that does not depend on the locale.
#pragma once

namespace espalier::job {

// Returns whether `c` is one of the ASCII characters '0' to '9'.
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace espalier::job
