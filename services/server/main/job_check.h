// Does a stream of mini-batches belong to the job that a sampler was started for?
#pragma once

#include <string>

#include "services/job/dist_training.h"
#include "services/messages/stream_messages.h"

namespace espalier::server {

// FailedPrecondition names the first difference. `job_name`: by which graph servers know the job. Fan-outs are the
// stream's own: they follow from the document and the graph's types, which the trainer has put together. So are the
// edge columns and ids that a program's loader asks for; its links without negatives are the edges of a job that labels
// them.
Status CheckStreamIsOfJob(const messages::StreamPlan& stream, const job::DistTraining& job,
                          const std::string& job_name);

}  // namespace espalier::server
