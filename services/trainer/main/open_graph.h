// From a trainer's flags to its graph, its mini-batches and the stores that it reads and writes.
#pragma once

#include <memory>
#include <string>

#include "services/client/session.h"
#include "services/job/dist_training.h"
#include "services/rpc/channel_settings.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/storage/store_settings.h"
#include "services/trainer/main/trainer_flags.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

Timeouts MakeTimeouts(const TrainerFlags& flags);

// Returns the name by which graph servers know the job.
const std::string& EffectiveJobName(const TrainerFlags& flags, const job::DistTraining& job);

// Connects to the graph servers that the flags name, or opens their partitions in this process. Blocks for at most
// --connect-seconds; ended by `channel.stop`.
Result<client::Session> OpenGraph(const TrainerFlags& flags, const job::DistTraining& job,
                                  const rpc::ChannelSettings& channel, const storage::StoreSettings& stores);

// Returns this rank's mini-batches: streamed by the samplers that the flags name, or drawn by threads of this process.
// `session` outlives them.
Result<std::unique_ptr<sampler::MiniBatchSource>> MakeBatches(const TrainerFlags& flags, const job::DistTraining& job,
                                                              const client::Session& session,
                                                              const rpc::ChannelSettings& channel);

// Opens what the flags and the document name by URI, into `options`: outputs, model, chosen nodes, checkpoints. No
// store is contacted. InvalidArgument names the flag or field.
Status OpenStores(const TrainerFlags& flags, const job::DistTraining& job, const storage::StoreSettings& settings,
                  TrainOptions* options);

}  // namespace espalier::trainer
