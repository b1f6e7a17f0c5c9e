// Random words of many draw streams at once. Stream s under a key has the same words as PhiloxStream(key, s); s is the
// original id of a node or the number of a walk. Several Philox blocks are computed at a time, because computing one
// block after the other would take a third of the sampling time.
#pragma once

#include <cstdint>
#include <span>

namespace espalier::sampler {

// Writes words [0, 4 * blocks_per_stream) of streams[i] to words[i * 4 * blocks_per_stream ...].
void FillDrawWords(uint64_t key, std::span<const uint64_t> streams, uint32_t blocks_per_stream, uint32_t* words);

// Returns word `index` of one stream.
uint32_t DrawWord(uint64_t key, uint64_t stream, uint64_t index);

}  // namespace espalier::sampler
