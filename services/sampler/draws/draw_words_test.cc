#include "services/sampler/draws/draw_words.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/base/philox.h"

namespace espalier::sampler {
namespace {

TEST(FillDrawWordsTest, GivesEachStreamItsOwnPhiloxWords) {
  constexpr uint64_t kKey = 0xABCDEF0123456789u;
  // Fewer blocks than vector lanes, more, and a multiple; ids of more than 32 bits.
  for (const size_t num_streams : {0u, 1u, 3u, 8u, 21u}) {
    for (const uint32_t blocks : {1u, 2u, 4u, 7u}) {
      std::vector<uint64_t> streams;
      for (size_t s = 0; s < num_streams; ++s) streams.push_back(s * 0x123456789u);
      std::vector<uint32_t> words(num_streams * blocks * 4);

      FillDrawWords(kKey, streams, blocks, words.data());

      for (size_t s = 0; s < num_streams; ++s) {
        PhiloxStream expected(kKey, streams[s]);
        for (uint32_t i = 0; i < blocks * 4; ++i) {
          const uint32_t word = expected.Next();
          EXPECT_EQ(words[s * blocks * 4 + i], word) << "stream " << s << " of " << num_streams << ", word " << i;
          EXPECT_EQ(DrawWord(kKey, streams[s], i), word);
        }
      }
    }
  }
}

}  // namespace
}  // namespace espalier::sampler
