#include "services/server/apply_once.h"

#include <string>
#include <utility>

namespace espalier::server {

AppliedWrites::Number ToNumber(const tensor::v1::Change& change) {
  return {change.client_id(), change.sequence(), change.lowest_in_flight()};
}

Status ApplyOnce(AppliedWrites& applied, const tensor::v1::Change& change, Deadline deadline,
                 const std::function<void(sampler::DoneStatus)>& apply, sampler::DoneStatus answer) {
  const AppliedWrites::Number number = ToNumber(change);
  if (number.sequence == 0) {
    apply(std::move(answer));
    return Status();
  }
  switch (applied.TryClaim(number, deadline)) {
    case AppliedWrites::Claim::kTaken: break;
    case AppliedWrites::Claim::kApplied: answer(Status()); return Status();
    case AppliedWrites::Claim::kUnderWay:
      return Unavailable("an earlier attempt of the change, or an earlier change, is in progress");
    case AppliedWrites::Claim::kTooMany: return Unavailable("too many changes of this client are in progress");
    case AppliedWrites::Claim::kFull:
      return Unavailable("the server remembers the changes of too many clients: retry later");
    case AppliedWrites::Claim::kObsolete:
      return Aborted("change " + std::to_string(number.sequence) +
                     " arrived after its client had completed it or given it up");
  }
  apply([&applied, number, answer = std::move(answer)](const Status& status) {
    status.ok() ? applied.MarkApplied(number) : applied.MarkFailed(number);
    answer(status);
  });
  return Status();
}

}  // namespace espalier::server
