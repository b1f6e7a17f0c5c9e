// Opens the graph, the mini-batches and the stores of a trainer from its flags.
#pragma once

#include <memory>
#include <string>

#include "services/client/session/session.h"
#include "services/job/dist_training.h"
#include "services/rpc/channel_settings.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/storage/store_settings.h"
#include "services/trainer/main/trainer_flags.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

// Returns the time limits that the flags set.
Timeouts MakeTimeouts(const TrainerFlags& flags);

// Returns the name under which graph servers and samplers know the job: --job-name, or the document's name.
const std::string& EffectiveJobName(const TrainerFlags& flags, const job::DistTraining& job);

// Connects to the graph servers given by the flags, or opens the partitions in this process. Waits for servers for at
// most --connect-seconds. Ends early with an error if `channel.stop` is requested.
Result<client::Session> OpenGraph(const TrainerFlags& flags, const job::DistTraining& job,
                                  const rpc::ChannelSettings& channel, const storage::StoreSettings& stores);

// Returns this rank's mini-batches: streamed by the samplers given by the flags, or sampled by threads of this process.
// `session` must outlive them.
Result<std::unique_ptr<sampler::MiniBatchSource>> MakeBatches(const TrainerFlags& flags, const job::DistTraining& job,
                                                              const client::Session& session,
                                                              const rpc::ChannelSettings& channel);

// Sets the stores of `options` to the URIs in the flags and the document: outputs, the model, the ids of the nodes
// whose embeddings and predictions are saved (spec.output.nodesUri), checkpoints, and the checkpoints to resume from.
// Also sets options->resume. No store is contacted. InvalidArgument names the flag or field.
Status OpenStores(const TrainerFlags& flags, const job::DistTraining& job, const storage::StoreSettings& settings,
                  TrainOptions* options);

}  // namespace espalier::trainer
