#include "services/base/clock.h"

#include <thread>

namespace espalier {
namespace {

class RealClock final : public Clock {
 public:
  SteadyTime Now() override { return std::chrono::steady_clock::now(); }
  void SleepFor(std::chrono::nanoseconds duration) override { std::this_thread::sleep_for(duration); }
};

}  // namespace

// Never destroyed, because threads read the time while the process exits.
Clock& Clock::Real() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

}  // namespace espalier
