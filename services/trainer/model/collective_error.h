// Exception for a failed collective inside a forward or backward pass: synchronized batch normalization communicates
// with the other ranks inside torch's autograd, which cannot return a Status. The training loop catches it.
#pragma once

#include <stdexcept>

#include "services/base/status.h"

namespace espalier::trainer {

class CollectiveError : public std::runtime_error {
 public:
  explicit CollectiveError(Status status) : std::runtime_error(status.ToString()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

}  // namespace espalier::trainer
