// One rank's handle of a process group, for the Python classes.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "python/bindings/waits.h"
#include "services/collective/collective.h"

namespace espalier::python {

// Collective operations wait for other ranks. If a signal handler of Python interrupts an operation
// (KeyboardInterrupt), this rank leaves the group, and all later operations of the group fail on every rank.
class ProcessGroup {
 public:
  // `timeout`: the default of operations.
  ProcessGroup(std::unique_ptr<collective::Collective> group, std::chrono::milliseconds timeout)
      : group_(std::move(group)), timeout_(timeout) {}

  collective::Collective& group() const { return *group_; }

  // Runs `call(group, deadline)`, which returns a Status, and throws its error. `timeout` is in seconds; nullopt: the
  // group's default. If a signal handler raises, a stop is requested through `deadline`, which ends queries of the
  // graph, and Abandon is called, which ends collective operations.
  template <class Call>
  void Run(std::optional<double> timeout, Call call) {
    CallInterruptibly(timeout, Deadline::After(timeout_), [&](Deadline deadline) {
      const std::stop_callback leave(deadline.stop(), [this] { group_->Abandon(); });
      return call(*group_, deadline);
    });
  }

 private:
  const std::unique_ptr<collective::Collective> group_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace espalier::python
