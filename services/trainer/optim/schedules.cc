#include "services/trainer/optim/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace espalier::trainer {

double LearningRateAt(const job::LearningRateSchedule& schedule, double base, const RunLength& run,
                      int64_t global_step) {
  if (global_step < schedule.warmup_steps) {
    return base * static_cast<double>(global_step + 1) / static_cast<double>(schedule.warmup_steps);
  }
  const int64_t num_steps = run.steps_per_epoch * run.epochs;
  const auto steps_after_warmup = static_cast<double>(std::max<int64_t>(num_steps - schedule.warmup_steps, 1));
  const double progress = std::min(1.0, static_cast<double>(global_step - schedule.warmup_steps) / steps_after_warmup);
  switch (schedule.type) {
    case job::ScheduleType::kConstant: return base;
    case job::ScheduleType::kLinear: return base * (1.0 - progress);
    case job::ScheduleType::kCosine: return base * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    case job::ScheduleType::kStep: {
      const int64_t epoch = global_step / std::max<int64_t>(run.steps_per_epoch, 1);
      const int64_t drops = epoch / std::max<int64_t>(schedule.step_epochs, 1);
      return base * std::pow(schedule.factor, static_cast<double>(drops));
    }
  }
  return base;
}

}  // namespace espalier::trainer
