// Random words of many draw streams at once: the same numbers as PhiloxStream(key, original id), several blocks at a
// time, because generating one block after the other takes a third of the sampling time.
#pragma once

#include <cstdint>
#include <span>

namespace espalier::sampler {

// Writes words [0, 4 * blocks_per_stream) of stream s to words[s * 4 * blocks_per_stream ...].
void FillDrawWords(uint64_t key, std::span<const uint64_t> streams, uint32_t blocks_per_stream, uint32_t* words);

// Returns word `index` of one stream.
uint32_t DrawWord(uint64_t key, uint64_t stream, uint64_t index);

}  // namespace espalier::sampler
