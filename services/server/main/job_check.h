// Does a stream of mini-batches belong to the job that a sampler was started for?
#pragma once

#include <string>

#include "services/job/dist_training.h"
#include "services/messages/stream_messages.h"

namespace espalier::server {

// Returns FailedPrecondition with the first difference between the stream and `job`. `job_name` is the name by which
// graph servers know the job. Not compared: fan-outs, which the trainer derives from the document and the graph's
// types, and the edge columns and ids that a program's loader requests. Where the job labels edges, a program's links
// without negatives count as those edges.
Status CheckStreamIsOfJob(const messages::StreamPlan& stream, const job::DistTraining& job,
                          const std::string& job_name);

}  // namespace espalier::server
