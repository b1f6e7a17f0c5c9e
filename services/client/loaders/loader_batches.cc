// kThisProcess samples with LocalMiniBatchSource on the seeds of a list or of the graph; kSamplers reads the streams of
// the job's sampler processes with RemoteMiniBatchSource. With a feature cache, FeatureCache::MakeBatches wraps either
// source.
#include "services/client/loaders/loader_batches.h"

#include <utility>

#include "services/client/remote/remote_mini_batch_source.h"
#include "services/sampler/batches/local_mini_batch_source.h"

namespace espalier::client {
namespace {

Result<std::unique_ptr<sampler::MiniBatchSource>> MakeRemoteBatches(const DistGraph& graph, sampler::EpochPlan plan,
                                                                    const LoaderSampling& options) {
  const Context& context = graph.context();
  if (context.samplers.empty()) {
    return FailedPrecondition(
        "SampledBy::kSamplers without sampler processes: ESPALIER_SAMPLERS is not set, expected host:port of each "
        "sampler process (their number is spec.samplers.replicas)");
  }
  RemoteMiniBatchOptions remote;
  remote.samplers = context.samplers;
  remote.partition_key = context.session.partition_key;
  remote.job = context.session.job;
  remote.incarnation = context.session.incarnation.value_or(0);
  remote.batches_ahead = options.batches_ahead;
  remote.want_edge_ids = options.want_edge_ids;
  remote.channel = context.session.channel;
  ASSIGN_OR_RETURN(std::unique_ptr<RemoteMiniBatchSource> source,
                   RemoteMiniBatchSource::Make(graph.book(), std::move(plan), options.sampling, remote));
  return std::unique_ptr<sampler::MiniBatchSource>(std::move(source));
}

Result<std::unique_ptr<sampler::MiniBatchSource>> MakeBatchesWithoutCache(const DistGraph& graph,
                                                                          sampler::SeedSource* seeds,
                                                                          sampler::EpochPlan plan,
                                                                          const LoaderSampling& options) {
  if (options.by == SampledBy::kSamplers) {
    if (seeds == nullptr) return MakeRemoteBatches(graph, std::move(plan), options);
    return InvalidArgument(
        "sampler processes support only NodesOfSplit and EdgesOfSplit, not lists or the share of one rank: use "
        "SampledBy::kThisProcess");
  }
  sampler::LocalSamplingOptions local;
  local.threads = options.threads;
  local.depth = options.batches_ahead;
  local.step_timeout = graph.context().call_timeout;
  local.want_edge_ids = options.want_edge_ids;
  sampler::SeedSource& seeds_of_steps = seeds == nullptr ? graph.partitions() : *seeds;
  return std::unique_ptr<sampler::MiniBatchSource>(
      new sampler::LocalMiniBatchSource(graph.partitions(), seeds_of_steps, options.sampling, std::move(plan), local));
}

}  // namespace

Result<std::unique_ptr<sampler::MiniBatchSource>> MakeLoaderBatches(const DistGraph& graph, sampler::SeedSource* seeds,
                                                                    sampler::EpochPlan plan,
                                                                    const LoaderSampling& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<sampler::MiniBatchSource> batches,
                   MakeBatchesWithoutCache(graph, seeds, std::move(plan), options));
  if (options.feature_cache == nullptr) return batches;
  return FeatureCache::MakeBatches(options.feature_cache, graph, std::move(batches));
}

}  // namespace espalier::client
