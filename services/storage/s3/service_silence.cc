#include "services/storage/s3/service_silence.h"

#include <algorithm>

namespace espalier::storage {

using std::chrono::nanoseconds;

bool ServiceSilence::IsKnownAt(SteadyTime now) const { return began_.has_value() && now - last_failure_ <= patience_; }

nanoseconds ServiceSilence::BudgetAt(SteadyTime now) const {
  MutexLock lock(&mutex_);
  if (!IsKnownAt(now)) return patience_;
  return std::clamp(nanoseconds(*began_ + patience_ - now), shortest_, patience_);
}

std::optional<nanoseconds> ServiceSilence::LengthAt(SteadyTime now) const {
  MutexLock lock(&mutex_);
  if (!IsKnownAt(now)) return std::nullopt;
  return now - *began_;
}

void ServiceSilence::Answered(SteadyTime now) {
  MutexLock lock(&mutex_);
  began_.reset();
  last_answer_ = std::max(last_answer_, now);
}

void ServiceSilence::Unanswered(SteadyTime sent, SteadyTime now, nanoseconds stall_time) {
  MutexLock lock(&mutex_);
  const SteadyTime began = std::max({sent, now - stall_time, last_answer_});
  began_ = IsKnownAt(sent) ? std::min(*began_, began) : began;
  last_failure_ = std::max(last_failure_, now);
}

}  // namespace espalier::storage
