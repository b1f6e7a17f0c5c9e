#include "services/trainer/model/torch_error.h"

#include <new>
#include <string_view>

namespace espalier::trainer {

bool IsOutOfMemory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  const std::string_view text = error.what();
  // Messages of c10's CPU allocator in several versions of torch, and of its CUDA allocator.
  for (const std::string_view message :
       {"can't allocate memory", "not enough memory", "std::bad_alloc", "CUDA out of memory"}) {
    if (text.find(message) != std::string_view::npos) return true;
  }
  return false;
}

Status FromTorchError(const std::exception& error) {
  return IsOutOfMemory(error) ? ResourceExhausted(error.what()) : Internal(error.what());
}

}  // namespace espalier::trainer
