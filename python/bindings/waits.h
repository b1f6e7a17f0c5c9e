// Calls that may block, without the interpreter's lock and with signals handled.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include <nanobind/nanobind.h>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/client/dist_graph.h"

namespace espalier::python {

// An error of the library on its way to Python, where it becomes the exception of its code (espalier/errors.py).
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

// Runs `body` without the interpreter's lock. In Python's main thread the body runs on another thread, and Python's
// signal handlers run meanwhile: if one raises (KeyboardInterrupt), the body's stop is requested, and the exception is
// thrown when the body has ended. The body must not use Python.
void RunInterruptibly(const std::function<void(std::stop_token)>& body);

// The same for a call that returns a Result or a Status; throws its error. `seconds`: timeout; nothing: `usual`.
template <class Call>
auto Wait(std::optional<double> seconds, Deadline usual, Call call) {
  const Deadline deadline =
      seconds ? Deadline::After(std::chrono::nanoseconds(static_cast<int64_t>(*seconds * 1e9))) : usual;
  std::optional<std::invoke_result_t<Call, Deadline>> result;
  RunInterruptibly([&](std::stop_token stop) { result.emplace(call(deadline.OrStop(std::move(stop)))); });
  if constexpr (std::is_same_v<std::invoke_result_t<Call, Deadline>, Status>) {
    ThrowIfError(*result);
  } else {
    return ValueOrThrow(*std::move(result));
  }
}

// The same for a call that takes a graph and no deadline: it is given a handle that the interruption stops.
template <class Call>
auto WaitWith(const client::DistGraph& graph, Call call) {
  return Wait({}, graph.CallDeadline(),
              [&](const Deadline& deadline) { return call(graph.WithStop(deadline.stop())); });
}

// Translates StatusError.
void BindErrors(nanobind::module_& m);

}  // namespace espalier::python
