// A scope with the default floating-point environment.
#pragma once

#include <cfenv>

namespace espalier::shard {

// Sets the calling thread's floating-point environment to FE_DFL_ENV, which does not flush subnormal numbers to zero,
// and restores the previous one on destruction. A trainer's threads flush subnormal numbers and a graph server's do
// not, but both must write the same bits into learnable rows. Must be destroyed on the thread that created it.
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
