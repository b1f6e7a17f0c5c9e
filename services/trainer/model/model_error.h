// What a user's module does wrong inside a forward pass, which knows no Status: the training loop and inference catch
// it. (What torch itself throws while our own models compute is a fault of ours, unless memory ran out: torch_error.h.)
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
