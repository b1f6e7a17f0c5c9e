// Applies the tensor change of a request once, however often the request arrives.
#pragma once

#include <functional>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/sampler/access/row_sink.h"
#include "services/server/applied_writes.h"

namespace espalier::server {

AppliedWrites::Number ToNumber(const tensor::v1::Change& change);

// Calls apply(done); when `done` is called with a status, records the outcome and calls answer(status). If the change
// was applied before, calls only answer(OK). A change without a number is always applied. Returns Unavailable if the
// change cannot be accepted now, and Aborted if it can never be accepted; then neither function is called. `deadline`
// is that of the call. `applied` must live until `answer` is called.
Status ApplyOnce(AppliedWrites& applied, const tensor::v1::Change& change, Deadline deadline,
                 const std::function<void(sampler::DoneStatus)>& apply, sampler::DoneStatus answer);

}  // namespace espalier::server
