#include "services/trainer/main/open_graph.h"

#include <chrono>
#include <utility>

#include "services/base/environment.h"
#include "services/client/remote/remote_mini_batch_source.h"
#include "services/rpc/address_range.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/storage/cache/local_cache.h"
#include "services/storage/open_store.h"
#include "services/trainer/data/sampling_plan.h"

namespace espalier::trainer {

Timeouts MakeTimeouts(const TrainerFlags& flags) {
  return {std::chrono::seconds(flags.data_timeout_seconds), std::chrono::seconds(flags.collective_timeout_seconds)};
}

const std::string& EffectiveJobName(const TrainerFlags& flags, const job::DistTraining& job) {
  return flags.job_name.empty() ? job.name : flags.job_name;
}

Result<client::Session> OpenGraph(const TrainerFlags& flags, const job::DistTraining& job,
                                  const rpc::ChannelSettings& channel, const storage::StoreSettings& stores) {
  client::SessionOptions options;
  options.channel = channel;
  if (flags.servers.empty()) {
    options.standalone.partitions_uri = flags.partitions_uri;
    options.standalone.stores = stores;
    options.standalone.cache = {
        .folder = flags.data_dir.empty() ? storage::DefaultCacheFolder(ReadEnvironment()) : flags.data_dir,
        .max_bytes = flags.cache_bytes};
  } else {
    ASSIGN_OR_RETURN(options.addresses, rpc::ExpandAddresses(flags.servers));
  }
  options.job = EffectiveJobName(flags, job);
  options.incarnation = flags.incarnation;
  options.connect_timeout = std::chrono::seconds(flags.connect_seconds);
  ASSIGN_OR_RETURN(options.access, client::ParseAccess(flags.access));
  return client::Connect(options);
}

Result<std::unique_ptr<sampler::MiniBatchSource>> MakeBatches(const TrainerFlags& flags, const job::DistTraining& job,
                                                              const client::Session& session,
                                                              const rpc::ChannelSettings& channel) {
  const job::Training& training = job.training;
  const graph::GraphSchema& schema = session.graph->book().schema();
  ASSIGN_OR_RETURN(const sampler::EpochPlan plan, MakeEpochPlan(training, schema, flags.world_size, Rank(flags.rank)));
  ASSIGN_OR_RETURN(const sampler::SamplingSpec spec, MakeSamplingSpec(training.sampling, schema, training.seed));
  if (flags.samplers.empty()) {
    sampler::LocalSamplingOptions options;
    options.threads = flags.sampler_threads;
    options.step_timeout = MakeTimeouts(flags).data;
    return std::unique_ptr<sampler::MiniBatchSource>(
        new sampler::LocalMiniBatchSource(*session.graph, *session.graph, spec, plan, options));
  }
  client::RemoteMiniBatchOptions options;
  options.channel = channel;
  ASSIGN_OR_RETURN(options.samplers, rpc::ExpandAddresses(flags.samplers));
  options.partition_key = session.partition_key;
  options.job = EffectiveJobName(flags, job);
  options.incarnation = flags.incarnation;
  ASSIGN_OR_RETURN(std::unique_ptr<client::RemoteMiniBatchSource> source,
                   client::RemoteMiniBatchSource::Make(session.graph->book(), plan, spec, options));
  return std::unique_ptr<sampler::MiniBatchSource>(std::move(source));
}

Status OpenStores(const TrainerFlags& flags, const job::DistTraining& job, const storage::StoreSettings& settings,
                  TrainOptions* options) {
  if (!flags.output_uri.empty()) {
    ASSIGN_OR_RETURN(options->output, storage::OpenStore(flags.output_uri, settings).While("--output"));
  }
  if (!job.training.model.uri.empty()) {
    ASSIGN_OR_RETURN(
        options->model,
        storage::LocateFile(job.training.model.uri, storage::OpenerWith(settings)).While("spec.training.model.uri"));
  }
  if (!job.output_nodes_uri.empty()) {
    ASSIGN_OR_RETURN(options->chosen_nodes,
                     storage::OpenStore(job.output_nodes_uri, settings).While("spec.output.nodesUri"));
  }
  if (!flags.checkpoints.empty()) {
    ASSIGN_OR_RETURN(options->checkpoints, storage::OpenStore(flags.checkpoints, settings).While("--checkpoints"));
  }
  if (flags.resume == "never") options->resume = ResumeMode::kNever;
  const bool has_uri = flags.resume != "auto" && flags.resume != "never";
  if (const std::string& from = has_uri ? flags.resume : job.checkpoint.resume_from; !from.empty()) {
    const char* const field = has_uri ? "--resume" : "spec.checkpoint.resumeFrom";
    ASSIGN_OR_RETURN(options->resume_from, storage::OpenStore(from, settings).While(field));
  }
  return Status();
}

}  // namespace espalier::trainer
