// Exception for an error inside a forward pass or a loss function, which cannot return a Status: a user's module fails,
// or an edge has an invalid label. The training loop and inference catch it. (An exception of torch in a built-in model
// is a bug, unless memory ran out: torch_error.h.)
#pragma once

#include <stdexcept>

#include "services/base/status.h"

namespace espalier::trainer {

class ModelError : public std::runtime_error {
 public:
  explicit ModelError(Status status) : std::runtime_error(status.ToString()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

}  // namespace espalier::trainer
