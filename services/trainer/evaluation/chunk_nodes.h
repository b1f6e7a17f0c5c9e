// Chooses the chunk size: the number of nodes that evaluations and exports compute at once.
#pragma once

#include <span>

#include "services/graph/partition_book.h"
#include "services/job/dist_training.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::trainer {

// Returns the largest power of two from 128 to 4096 whose estimated memory fits: at most 128 MiB for the rows that one
// layer reads with full neighborhoods and, if evaluations sample, at most 288 MiB for the rows that all layers of the
// sample read. Returns 128 if no size fits. The estimate depends only on the numbers of nodes and edges, the fan-outs,
// and row_widths[layer], the number of f32 values in a row that the layer reads. Hence the result is the same for any
// partitioning and any number of trainers.
uint64_t ChooseChunkNodes(const sampler::SamplingSpec& spec, job::EvaluationNeighborhood neighborhood,
                          const graph::PartitionBook& book, std::span<const int64_t> row_widths);

}  // namespace espalier::trainer
