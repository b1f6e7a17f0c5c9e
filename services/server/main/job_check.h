// Checks whether a stream of mini-batches belongs to the job for which a sampler was started.
#pragma once

#include <string>

#include "services/job/dist_training.h"
#include "services/messages/stream_messages.h"

namespace espalier::server {

// Returns FailedPrecondition with the first difference between the stream and `job`. `job_name` is the name under
// which the graph servers know the job. Not compared: fan-outs and the types of the seeds, which the trainer derives
// from the document and the graph's types; the edge columns and ids that a program's loader requests. If the job's task
// has labeled edges, a program may also request these edges as links without negatives.
Status CheckStreamIsOfJob(const messages::StreamPlan& stream, const job::DistTraining& job,
                          const std::string& job_name);

}  // namespace espalier::server
