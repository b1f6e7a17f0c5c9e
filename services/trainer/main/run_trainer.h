// Runs one rank of a job's training as a process: admin port, rendezvous, graph, training, termination message.
#pragma once

#include <torch/torch.h>

#include "services/base/exit_code.h"
#include "services/job/dist_training.h"
#include "services/storage/store_settings.h"
#include "services/trainer/main/trainer_flags.h"
#include "services/trainer/ops/math_setup.h"

namespace espalier::trainer {

// Trains `job` on the device as the rank given by the flags. `math` is recorded in checkpoints and results. Returns
// kDone, or kAskedToStop if this or another trainer received SIGTERM or SIGINT and training stopped early. Writes the
// termination message unless it returns an error. Call once per process: it installs signal handling.
Result<ExitCode> RunTrainer(const TrainerFlags& flags, const job::DistTraining& job, storage::StoreSettings stores,
                            MathSettings math, torch::Device device);

}  // namespace espalier::trainer
