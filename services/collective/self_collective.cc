#include "services/collective/self_collective.h"

#include "services/base/check.h"
#include "services/base/wait_ended.h"

namespace espalier::collective {

Status SelfCollective::CheckInGroup() const {
  return is_abandoned_ ? Unavailable("this rank has left the group") : Status();
}

Status SelfCollective::Broadcast(std::span<std::byte>, Rank root, Deadline) {
  ESPALIER_CHECK(root.value == 0) << "root " << root.value << " of a group of one";
  return CheckInGroup();
}

Result<std::vector<std::byte>> SelfCollective::AllGather(std::span<const std::byte> bytes, Deadline) {
  RETURN_IF_ERROR(CheckInGroup());
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Status SelfCollective::PollUntilAllDone(const std::function<Result<bool>()>& is_done, Deadline deadline) {
  for (;;) {
    RETURN_IF_ERROR(CheckInGroup());
    ASSIGN_OR_RETURN(const bool done, is_done());
    if (done) return Status();
    if (deadline.HasPassed() || deadline.stop().stop_requested()) {
      return WaitEnded(deadline, "the awaited operation did not end before the deadline");
    }
    Clock::Real().SleepFor(std::chrono::milliseconds(1));
  }
}

}  // namespace espalier::collective
