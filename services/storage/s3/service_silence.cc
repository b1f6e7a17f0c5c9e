#include "services/storage/s3/service_silence.h"

#include <algorithm>

namespace espalier::storage {

using std::chrono::nanoseconds;

bool ServiceSilence::IsSilentAt(SteadyTime now) const { return began_.has_value() && now - last_failure_ <= patience_; }

nanoseconds ServiceSilence::BudgetAt(SteadyTime now) const {
  MutexLock lock(&mutex_);
  if (!IsSilentAt(now)) return patience_;
  return std::clamp(nanoseconds(*began_ + patience_ - now), shortest_, patience_);
}

std::optional<nanoseconds> ServiceSilence::LengthAt(SteadyTime now) const {
  MutexLock lock(&mutex_);
  if (!IsSilentAt(now)) return std::nullopt;
  return now - *began_;
}

void ServiceSilence::RecordResponse(SteadyTime now) {
  MutexLock lock(&mutex_);
  began_.reset();
  last_response_ = std::max(last_response_, now);
}

void ServiceSilence::RecordFailure(SteadyTime sent, SteadyTime now, nanoseconds stall_time) {
  MutexLock lock(&mutex_);
  const SteadyTime began = std::max({sent, now - stall_time, last_response_});
  began_ = IsSilentAt(sent) ? std::min(*began_, began) : began;
  last_failure_ = std::max(last_failure_, now);
}

}  // namespace espalier::storage
