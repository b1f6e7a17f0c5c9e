// How many nodes evaluations and results compute at once.
#pragma once

#include <span>

#include "services/graph/partition_book.h"
#include "services/job/dist_training.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::trainer {

// A power of two from 128 to 4096: as many as keep what a layer reads of all their in-edges within 128 MiB and, where
// evaluations sample, what all layers of the sample read within 288 MiB, by the numbers of nodes and edges, the
// fan-outs, and row_widths[layer], f32, of what each layer reads. Nothing else enters, so the number is the same for
// any partitioning and any number of trainers.
uint64_t ChooseChunkNodes(const sampler::SamplingSpec& spec, job::EvaluationNeighborhood neighborhood,
                          const graph::PartitionBook& book, std::span<const int64_t> row_widths);

}  // namespace espalier::trainer
