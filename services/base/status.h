// Errors as values. A `Status` says what failed and, by its code, what the caller can do about it; a `Result<T>` is
// either a value or an error status. Functions of services/ and operator/ throw only std::bad_alloc and the exceptions
// that their comments name, such as ModelError. std::bad_alloc ends the process (telemetry/termination.h) unless a
// caller handles it. Exceptions of libraries are caught at the call, those of torch possibly in a caller.
// python/bindings converts errors to exceptions of Python.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "services/base/check.h"

namespace espalier {

// The numbers are those of gRPC (asserted in rpc/status_map.h). Choose a code by what the caller should do: retry
// (kUnavailable, kDeadlineExceeded, kAborted, kResourceExhausted), correct the input (kInvalidArgument, kNotFound,
// kOutOfRange, ...) or stop (kDataLoss, kInternal).
enum class StatusCode {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// Returns gRPC's name of the code, such as "INVALID_ARGUMENT".
const char* StatusCodeName(StatusCode code);

// Thread-compatible value.
class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns the same error with its context prepended to the message: "no such file" with While("reading edges")
  // becomes "reading edges: no such file". An OK status stays OK.
  Status While(const std::string& doing) const&;
  Status While(const std::string& doing) &&;

  // Returns the code and the message for display and logs: "NOT_FOUND: reading edges: no such file".
  std::string ToString() const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// Returns whether the same call with the same arguments may succeed later.
bool IsRetryable(StatusCode code);

Status InvalidArgument(std::string message);
Status NotFound(std::string message);
Status AlreadyExists(std::string message);
Status OutOfRange(std::string message);
Status FailedPrecondition(std::string message);
Status Unimplemented(std::string message);
Status ResourceExhausted(std::string message);
Status Unavailable(std::string message);
Status DeadlineExceeded(std::string message);
Status Aborted(std::string message);
Status Cancelled(std::string message);
Status DataLoss(std::string message);
Status Internal(std::string message);
// Returns the status for an errno, with `doing` as its context: "opening x.npy: No such file or directory".
Status FromErrno(int error_number, const std::string& doing);

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    ESPALIER_CHECK(!status_.ok()) << "a Result cannot be made of an OK status";
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  // Returns the value. Requires ok() (checked).
  T& operator*() & { return Value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->Value(); }
  T operator*() && { return std::move(Value()); }  // by value, because `for (x : *F())` would dangle otherwise
  T* operator->() { return &Value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->Value(); }

  Result While(const std::string& doing) && {
    if (ok()) return std::move(*this);
    return std::move(status_).While(doing);
  }

 private:
  T& Value() {
    ESPALIER_CHECK(value_.has_value()) << status_.ToString();
    return *value_;
  }

  Status status_;
  std::optional<T> value_;
};

#define ESPALIER_CONCAT_INNER(a, b) a##b
#define ESPALIER_CONCAT(a, b) ESPALIER_CONCAT_INNER(a, b)

// Returns the error from the enclosing function if `expression` (a Status) is not OK.
#define RETURN_IF_ERROR(expression)                                                                       \
  do {                                                                                                    \
    if (::espalier::Status espalier_status = (expression); !espalier_status.ok()) return espalier_status; \
  } while (false)

// ASSIGN_OR_RETURN(auto x, MakeX()) sets x to the value or returns the error from the enclosing function.
#define ASSIGN_OR_RETURN(declaration, expression) \
  ESPALIER_ASSIGN_OR_RETURN(ESPALIER_CONCAT(espalier_result_, __LINE__), declaration, expression)
#define ESPALIER_ASSIGN_OR_RETURN(result, declaration, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return std::move(result).status();             \
  declaration = *std::move(result)

}  // namespace espalier
