// Every fuzzer over its seeds and some thousands of mutations of them, the same ones every time: what a fuzzer would
// find in its first seconds is found by the ordinary tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "operator/fuzz/entries.h"
#include "services/base/philox.h"

namespace espalier::ctl {
namespace {

using Entry = int (*)(const uint8_t* data, size_t size);

struct Fuzzer {
  const char* name;
  Entry entry;
};
constexpr Fuzzer kFuzzers[] = {{"watch_event", EspalierFuzzWatchEvent},   {"api_error", EspalierFuzzApiError},
                               {"kube_config", EspalierFuzzKubeConfig},   {"json_objects", EspalierFuzzJsonObjects},
                               {"job_document", EspalierFuzzJobDocument}, {"dist_training", EspalierFuzzDistTraining}};

std::vector<std::string> Seeds(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

// Corpora of tests elsewhere are seeds too.
std::vector<std::string> SeedsOf(const std::string& name) {
  const std::map<std::string, std::vector<std::string>> folders = {
      {"kube_config", {"operator/fuzz/corpus/kube_config", "operator/client/testdata/kube_config"}},
      {"job_document", {"crds/examples", "crds/tests"}}};
  const auto found = folders.find(name);
  if (found == folders.end()) return Seeds(std::string(ESPALIER_SOURCE_DIR) + "/operator/fuzz/corpus/" + name);
  std::vector<std::string> seeds;
  for (const std::string& folder : found->second) {
    for (std::string& seed : Seeds(std::string(ESPALIER_SOURCE_DIR) + "/" + folder)) seeds.push_back(std::move(seed));
  }
  return seeds;
}

size_t Below(PhiloxStream& random, size_t bound) { return random.NextBelow(static_cast<uint32_t>(bound)); }

// Pieces that mean something to the parsers: quotes and brackets, numbers at the edges, words of the formats.
const std::vector<std::string>& Tokens() {
  static const auto& tokens = *new std::vector<std::string>{"{",
                                                            "}",
                                                            "[",
                                                            "]",
                                                            "\"",
                                                            ":",
                                                            ",",
                                                            "\n",
                                                            "\\u0000",
                                                            "\\ud800",
                                                            "\xff",
                                                            "\xef\xbb\xbf",
                                                            "null",
                                                            "true",
                                                            "-1",
                                                            "1e999",
                                                            "9223372036854775808",
                                                            "1.0",
                                                            "0",
                                                            "\"\"",
                                                            "{}",
                                                            "[]",
                                                            "&a ",
                                                            "*a",
                                                            "<<: ",
                                                            "- ",
                                                            "? ",
                                                            "!!str ",
                                                            "| ",
                                                            "%",
                                                            "---\n",
                                                            "#",
                                                            "\"metadata\":",
                                                            "\"managedFields\":",
                                                            "\"name\":",
                                                            "\"items\":",
                                                            "ERROR",
                                                            "BOOKMARK",
                                                            "name: ",
                                                            "user: ",
                                                            "=",
                                                            "2026-01-02T03:04:05Z",
                                                            "https://[::1]:6443",
                                                            "@",
                                                            "../"};
  return tokens;
}

std::string Mutated(std::string text, const std::vector<std::string>& seeds, PhiloxStream& random) {
  constexpr size_t kMaxBytes = 1 << 14;
  for (size_t num_changes = 1 + Below(random, 4); num_changes > 0; --num_changes) {
    const size_t at = Below(random, text.size() + 1);
    const size_t length = std::min(text.size() - at, Below(random, 32));
    switch (Below(random, 6)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, Tokens()[Below(random, Tokens().size())]); break;
      case 2: text.insert(at, text.substr(at, length)); break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random.Next());
        break;
      case 4: text.resize(at); break;
      case 5: {
        const std::string& other = seeds[Below(random, seeds.size())];
        const size_t from = Below(random, other.size() + 1);
        text.replace(at, length, other.substr(from, Below(random, 256)));
        break;
      }
    }
  }
  if (text.size() > kMaxBytes) text.resize(kMaxBytes);
  return text;
}

class FuzzTest : public ::testing::TestWithParam<Fuzzer> {
 protected:
  void Run(const std::string& text) const {
    EXPECT_EQ(GetParam().entry(reinterpret_cast<const uint8_t*>(text.data()), text.size()), 0);
  }
};

TEST_P(FuzzTest, SurvivesItsSeeds) {
  const std::vector<std::string> seeds = SeedsOf(GetParam().name);
  ASSERT_GE(seeds.size(), 5u);
  for (const std::string& seed : seeds) Run(seed);
  Run("");
}

TEST_P(FuzzTest, SurvivesMutationsOfItsSeeds) {
  constexpr int kNumMutations = 4000;
  const std::vector<std::string> seeds = SeedsOf(GetParam().name);
  ASSERT_FALSE(seeds.empty());
  for (int i = 0; i < kNumMutations; ++i) {
    SCOPED_TRACE(i);
    PhiloxStream random(/*key=*/20260102, /*stream=*/static_cast<uint64_t>(i));
    Run(Mutated(seeds[Below(random, seeds.size())], seeds, random));
  }
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTest, ::testing::ValuesIn(kFuzzers),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace espalier::ctl
