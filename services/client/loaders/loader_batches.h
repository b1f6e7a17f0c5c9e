// Source of the mini-batches of a data loader: sampling threads in this process, or sampler processes.
#pragma once

#include <memory>

#include "services/client/graph/dist_graph.h"
#include "services/client/loaders/feature_cache.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::client {

// Where mini-batches are sampled.
enum class SampledBy {
  kThisProcess,  // on threads of the loader
  // In the job's sampler processes (Context::samplers). Batches are identical to those of kThisProcess. The seeds must
  // be the training part of a split, not a list or a rank's share. Samplers serve one job: SessionOptions::job must be
  // its name, and the seed, batch size, split, number of layers, SamplingSpec::draw and seed_time_column, negatives,
  // label and excluded edges must be those of its spec.training; fan-outs may differ. If one of these values differs,
  // the loader's Next returns FailedPrecondition and names the first difference.
  kSamplers,
};

// Options of sampling for a loader.
struct LoaderSampling {
  SampledBy by = SampledBy::kThisProcess;
  sampler::SamplingSpec sampling;
  int threads = 1;                              // kThisProcess: number of sampling threads
  uint32_t batches_ahead = 2;                   // batches sampled ahead; with kSamplers, by each sampler process
  bool want_edge_ids = false;                   // whether blocks contain edge ids
  std::shared_ptr<FeatureCache> feature_cache;  // null: no cache
};

// Creates a source of mini-batches. `seeds` are the seeds of a list; null: the seeds of the split that `plan` names.
// graph.partitions() and `seeds` must outlive the source. Errors of kSamplers: FailedPrecondition if the job has no
// sampler processes, InvalidArgument if `seeds` is not null, and those of RemoteMiniBatchSource::Make. Errors of a
// feature cache: those of FeatureCache::MakeBatches.
Result<std::unique_ptr<sampler::MiniBatchSource>> MakeLoaderBatches(const DistGraph& graph, sampler::SeedSource* seeds,
                                                                    sampler::EpochPlan plan,
                                                                    const LoaderSampling& options);

}  // namespace espalier::client
