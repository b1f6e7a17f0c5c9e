// Facts about a task that are recorded in the files of a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace espalier::trainer {

struct TaskFacts {
  // Entries of the metadata of model files: the task's settings, among them those from which its head can be built.
  std::map<std::string, std::string> model_metadata = {};
  // Entries of a checkpoint's fields (checkpoint_fields.h) that only this task has.
  std::map<std::string, std::string> checkpoint_fields = {};
  int64_t num_edge_outputs = 0;  // number of outputs of the head for edges; 0: there is no such head
};

}  // namespace espalier::trainer
