// Calls that may block, without the interpreter's lock and with signals handled.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/client/graph/dist_graph.h"

namespace espalier::python {

// Carries an error of the library to Python, which raises the exception for the error's code (espalier/errors.py).
class StatusError : public std::exception {
 public:
  explicit StatusError(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return status_.message().c_str(); }

 private:
  Status status_;
};

inline void ThrowIfError(const Status& status) {
  if (!status.ok()) throw StatusError(status);
}
template <class T>
T ValueOrThrow(Result<T> result) {
  if (!result.ok()) throw StatusError(std::move(result).status());
  return *std::move(result);
}

// Runs `body` without the interpreter's lock. If called in Python's main thread, the body runs on another thread, and
// Python's signal handlers run meanwhile: if one raises (KeyboardInterrupt), the body's stop is requested, and the
// exception is thrown when the body has ended. Signals are not handled for a call that a signal handler makes during
// another call, or in a process forked after the first call. The body must acquire the interpreter's lock before it
// uses Python.
void RunInterruptibly(const std::function<void(std::stop_token)>& body);

// Returns the deadline `timeout_seconds` from now; nullopt means `default_deadline`. Throws InvalidArgument for NaN.
Deadline ToDeadline(std::optional<double> timeout_seconds, const Deadline& default_deadline);

// Calls `call(deadline)`, which returns a Result or a Status, and returns its value or throws its error. If a signal
// handler raises, the deadline's stop is requested.
template <class Call>
auto CallInterruptibly(std::optional<double> timeout_seconds, const Deadline& default_deadline, Call call) {
  const Deadline deadline = ToDeadline(timeout_seconds, default_deadline);
  std::optional<std::invoke_result_t<Call, Deadline>> result;
  RunInterruptibly([&](std::stop_token stop) { result.emplace(call(deadline.OrStop(std::move(stop)))); });
  if constexpr (std::is_same_v<std::invoke_result_t<Call, Deadline>, Status>) {
    ThrowIfError(*result);
  } else {
    return ValueOrThrow(*std::move(result));
  }
}

// Like CallInterruptibly, but for calls without a deadline parameter: calls `call(copy)` with a copy of `graph`. If a
// signal handler raises, queries that use the copy end.
template <class Call>
auto CallWithStop(const client::DistGraph& graph, Call call) {
  return CallInterruptibly({}, graph.CallDeadline(),
                           [&](const Deadline& deadline) { return call(graph.WithStop(deadline.stop())); });
}

// Returns the code with this name, such as "NOT_FOUND"; kUnknown for other names.
StatusCode CodeFromName(const std::string& name);

// Registers the translation of StatusError to Python's exceptions, and records the main thread. Called on import, which
// may be in any thread.
void BindErrors(nanobind::module_& m);

}  // namespace espalier::python
