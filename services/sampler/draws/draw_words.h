// Random words of many draw streams at once: the same numbers as PhiloxStream(key, original id), several blocks in
// one go, because one block after the other costs a third of the sampling time.
#pragma once

#include <cstdint>
#include <span>

namespace espalier::sampler {

// Words [0, 4 * blocks_per_stream) of stream s go to words[s * 4 * blocks_per_stream ...].
void FillDrawWords(uint64_t key, std::span<const uint64_t> streams, uint32_t blocks_per_stream, uint32_t* words);

// Word `index` of one stream.
uint32_t DrawWord(uint64_t key, uint64_t stream, uint64_t index);

}  // namespace espalier::sampler
