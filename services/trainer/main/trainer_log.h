// Log entries about the training, and the termination message of a trainer.
#pragma once

#include <string>

#include "services/job/dist_training.h"
#include "services/telemetry/termination.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

void LogEpoch(const EpochReport& report, job::Metric metric);
void LogOutcome(const TrainOutcome& outcome, job::Metric metric);

// Returns the process's termination message: the outcome with its metrics and warnings, and the partition key.
telemetry::TerminationMessage MakeTerminationMessage(const TrainOutcome& outcome, const std::string& partition_key,
                                                     job::Metric metric);

}  // namespace espalier::trainer
