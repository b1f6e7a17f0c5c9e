#include "services/trainer/ops/autocast.h"

#include <ATen/autocast_mode.h>

namespace espalier::trainer {

AutocastScope::AutocastScope(job::Precision precision, torch::DeviceType device)
    : is_active_(precision == job::Precision::kBf16), device_(device) {
  if (!is_active_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  dtype_before_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_dtype(device_, torch::kBFloat16);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!is_active_) return;
  // Torch caches the BF16 copies of parameters; they would be stale after the next update.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, dtype_before_);
}

}  // namespace espalier::trainer
