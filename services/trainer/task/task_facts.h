// What the files of a run record about its task.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace espalier::trainer {

struct TaskFacts {
  // Entries of the metadata of model files: what the task needs to build the model that the parameters belong to.
  std::map<std::string, std::string> model_metadata = {};
  // Entries of a checkpoint's fields (checkpoint_fields.h) that only this task has.
  std::map<std::string, std::string> checkpoint_fields = {};
  int64_t num_edge_outputs = 0;  // of the head for edges; 0: there is none
};

}  // namespace espalier::trainer
