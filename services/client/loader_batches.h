// Where the mini-batches of a data loader are sampled.
#pragma once

#include <memory>

#include "services/client/dist_graph.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::client {

enum class SampledBy {
  kThisProcess,  // by threads of the loader
  // By the sampler processes of the job (Context::samplers), with the same result. They support the training part of a
  // split with global mini-batches. SessionOptions::job must be the job's name, and seed, batch size, split, number of
  // layers and the sampling of neighbors and negatives must be those of its spec.training; otherwise Next returns
  // FailedPrecondition, which names the first difference.
  kSamplers,
};

struct LoaderSampling {
  SampledBy by = SampledBy::kThisProcess;
  sampler::SamplingSpec sampling;
  int threads = 1;             // of kThisProcess
  uint32_t batches_ahead = 2;  // of kSamplers: for each sampler process
  bool want_edge_ids = false;
};

// Creates the source of mini-batches. `seeds` is the source of a list; null: the splits of the graph. `graph` and
// `seeds` must outlive the result. With kSamplers: FailedPrecondition if the job has no sampler processes,
// InvalidArgument if they do not support such mini-batches.
Result<std::unique_ptr<sampler::MiniBatchSource>> MakeLoaderBatches(const DistGraph& graph, sampler::SeedSource* seeds,
                                                                    sampler::EpochPlan plan,
                                                                    const LoaderSampling& draws);

}  // namespace espalier::client
