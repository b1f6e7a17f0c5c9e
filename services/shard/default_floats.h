// Floating point as a process begins with it, whatever its threads have been set to since.
#pragma once

#include <cfenv>

namespace espalier::shard {

// While it lives, its thread's arithmetic is that of FE_DFL_ENV, subnormal numbers included; then the thread's own
// again. A trainer's threads flush subnormal numbers to zero, a graph server's do not, and what either writes into
// learnable rows must be the same bits. Owned by one thread.
class DefaultFloats {
 public:
  DefaultFloats() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&before_); }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace espalier::shard
