// An error in a field of a job document.
#pragma once

#include <string>

namespace espalier::partitioner {

struct FieldError {
  std::string path;  // of the field: "spec.training.task.label"
  std::string message;
};

}  // namespace espalier::partitioner
