// From cpprestsdk's exceptions to the codes of transport.h, and for our own callbacks the way back.
#pragma once

#include <exception>
#include <string>

#include "services/base/status.h"

namespace espalier::ctl::client {

// A Status on its way through the library, which carries exceptions only.
class StatusException final : public std::exception {
 public:
  explicit StatusException(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return status_.message().c_str(); }

 private:
  Status status_;
};

// Unavailable where the request was written whole, even once; FailedPrecondition where it surely was not. `refusal`,
// where not empty, is why the server's certificate was refused: Unauthenticated.
Status ToStatus(std::exception_ptr exception, const std::string& refusal, bool was_written);

}  // namespace espalier::ctl::client
