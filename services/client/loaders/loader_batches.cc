// kThisProcess samples with LocalMiniBatchSource on the seeds of a list or of the graph; kSamplers reads the streams of
// the job's sampler processes with RemoteMiniBatchSource. A feature cache samples either of them ahead.
#include "services/client/loaders/loader_batches.h"

#include <utility>

#include "services/client/remote/remote_mini_batch_source.h"
#include "services/sampler/batches/local_mini_batch_source.h"

namespace espalier::client {
namespace {

Result<std::unique_ptr<sampler::MiniBatchSource>> BatchesOfSamplers(const DistGraph& graph, sampler::EpochPlan plan,
                                                                    const LoaderSampling& draws) {
  const Context& context = graph.context();
  if (context.samplers.empty()) {
    return FailedPrecondition(
        "SampledBy::kSamplers without sampler processes: ESPALIER_SAMPLERS is not set, expected host:port of each "
        "(spec.samplers.replicas)");
  }
  RemoteMiniBatchOptions options;
  options.samplers = context.samplers;
  options.partition_key = context.session.partition_key;
  options.job = context.session.job;
  options.incarnation = context.session.incarnation.value_or(0);
  options.batches_ahead = draws.batches_ahead;
  options.want_edge_ids = draws.want_edge_ids;
  options.channel = context.session.channel;
  ASSIGN_OR_RETURN(std::unique_ptr<RemoteMiniBatchSource> source,
                   RemoteMiniBatchSource::Make(graph.book(), std::move(plan), draws.sampling, options));
  return std::unique_ptr<sampler::MiniBatchSource>(std::move(source));
}

// Returns the source without a feature cache.
Result<std::unique_ptr<sampler::MiniBatchSource>> MakeSampledBatches(const DistGraph& graph, sampler::SeedSource* seeds,
                                                                     sampler::EpochPlan plan,
                                                                     const LoaderSampling& draws) {
  if (draws.by == SampledBy::kSamplers) {
    if (seeds == nullptr) return BatchesOfSamplers(graph, std::move(plan), draws);
    return InvalidArgument(
        "sampler processes support only splits that all ranks share, not lists and shares of one rank: use "
        "SampledBy::kThisProcess");
  }
  sampler::LocalSamplingOptions sampling;
  sampling.threads = draws.threads;
  sampling.depth = draws.batches_ahead;
  sampling.step_timeout = graph.context().call_timeout;
  sampling.want_edge_ids = draws.want_edge_ids;
  sampler::SeedSource& seeds_of_steps = seeds == nullptr ? graph.partitions() : *seeds;
  return std::unique_ptr<sampler::MiniBatchSource>(
      new sampler::LocalMiniBatchSource(graph.partitions(), seeds_of_steps, draws.sampling, std::move(plan), sampling));
}

}  // namespace

Result<std::unique_ptr<sampler::MiniBatchSource>> MakeLoaderBatches(const DistGraph& graph, sampler::SeedSource* seeds,
                                                                    sampler::EpochPlan plan,
                                                                    const LoaderSampling& draws) {
  ASSIGN_OR_RETURN(std::unique_ptr<sampler::MiniBatchSource> batches,
                   MakeSampledBatches(graph, seeds, std::move(plan), draws));
  if (draws.feature_cache == nullptr) return batches;
  return FeatureCache::SampleAhead(draws.feature_cache, graph, std::move(batches));
}

}  // namespace espalier::client
