// A failed collective inside a forward or backward pass: synchronised batch normalisation talks to the other
// ranks in the middle of torch's autograd, which knows no Status. The training loop catches it.
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
