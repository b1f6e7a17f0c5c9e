// The result of writing one checkpoint.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/status.h"

namespace espalier::trainer {

struct CheckpointReport {
  std::string folder;                 // "000001-000000000040", below the folder of checkpoints
  uint32_t epoch = 0, next_step = 0;  // where a run that resumes from the checkpoint starts
  uint64_t size_bytes = 0;
  double snapshot_seconds = 0;  // time for which training was paused
  double upload_seconds = 0;
  Status status;  // OK, or why the checkpoint was not written
};

}  // namespace espalier::trainer
