#include "services/server/tensor_owners.h"

namespace espalier::server {

Result<std::vector<TensorOwners::Tensor>> TensorOwners::Creates(const Tensor& tensor, uint64_t incarnation) {
  std::vector<Tensor> left_behind;
  MutexLock lock(&mutex_);
  if (incarnation < newest_) {
    return Aborted("incarnation " + std::to_string(incarnation) + " of the job creates tensor '" + tensor.second +
                   "' after incarnation " + std::to_string(newest_));
  }
  newest_ = incarnation;
  for (auto owned = incarnations_.begin(); owned != incarnations_.end();) {
    if (owned->second >= incarnation) {
      ++owned;
      continue;
    }
    left_behind.push_back(owned->first);
    owned = incarnations_.erase(owned);
  }
  incarnations_[tensor] = incarnation;
  return left_behind;
}

void TensorOwners::Dropped(const Tensor& tensor) {
  MutexLock lock(&mutex_);
  incarnations_.erase(tensor);
}

}  // namespace espalier::server
