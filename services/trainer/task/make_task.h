// Creates the task of a job. In the trainer, only MakeTask and ToLossKind (ops/losses.h) branch on the document's task
// type.
#pragma once

#include <memory>

#include "services/trainer/task/task.h"

namespace espalier::trainer {

// Returns the task of the document; never null.
std::unique_ptr<Task> MakeTask(const job::Training& training);

}  // namespace espalier::trainer
