// The process group of a job's ranks as Python's classes hold it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "python/bindings/waits.h"
#include "services/collective/collective.h"

namespace espalier::python {

// A rank of the group. A collective operation waits for other ranks: an
// interrupted one leaves the group, whose operations fail from then on, here and on the other ranks.
class ProcessGroup {
 public:
  ProcessGroup(std::unique_ptr<collective::Collective> group, std::chrono::milliseconds timeout)
      : group_(std::move(group)), timeout_(timeout) {}

  collective::Collective& group() const { return *group_; }

  // `call`: a collective operation that returns a Status. Its deadline has the stop of an interruption, which is for
  // the graph's queries.
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
