// A change of tensors out of a request, applied once however often the request arrives.
#pragma once

#include <functional>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/sampler/access/row_sink.h"
#include "services/server/applied_writes.h"

namespace espalier::server {

AppliedWrites::Number ToNumber(const tensor::v1::Change& change);

// Calls apply(done) unless the change was applied before; then answer(status), at once or when apply is done. One
// without a number is applied. An error is that of a change that cannot be taken now (Unavailable), or never (Aborted):
// nothing is called then. `deadline`: of the call that brings it. `applied` outlives the answer.
Status ApplyOnce(AppliedWrites& applied, const tensor::v1::Change& change, Deadline deadline,
                 const std::function<void(sampler::DoneStatus)>& apply, sampler::DoneStatus answer);

}  // namespace espalier::server
