// Converts exceptions of cpprestsdk to a Status with the codes of transport.h, and a callback's Status to an exception.
#pragma once

#include <exception>
#include <string>

#include "services/base/status.h"

namespace espalier::ctl::client {

// Carries a Status through the library, which returns errors of callbacks only as exceptions.
class StatusException final : public std::exception {
 public:
  explicit StatusException(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return status_.message().c_str(); }

 private:
  Status status_;
};

// Returns the error of a request. If the request was completely written at least once (`was_written`), the code is
// Unavailable. Otherwise: Unauthenticated if `refusal`, the reason why the server's certificate was refused, is not
// empty; the status of a StatusException; FailedPrecondition for other exceptions.
Status ToStatus(std::exception_ptr exception, const std::string& refusal, bool was_written);

}  // namespace espalier::ctl::client
