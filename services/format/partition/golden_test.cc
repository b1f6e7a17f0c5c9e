// Compares the files of TinyGraph with those that were written when the format was fixed: a change of a byte is a
// change of the format. After a change of kPartitionFormatVersion write them again (testing/write_golden_files.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/format/testing/tiny_graph.h"
#include "services/format/verify/verify.h"
#include "services/storage/file_store.h"
#include "services/storage/memory_store.h"

namespace espalier::format {
namespace {

constexpr const char* kGoldenFolder = ESPALIER_FORMAT_TESTDATA "/tiny";

TEST(GoldenTest, WritesGoldenBytes) {
  storage::MemoryStore fresh;
  WriteGoldenFiles(fresh);
  storage::FileStore golden(kGoldenFolder);
  const auto expected = golden.List(""), found = fresh.List("");
  ASSERT_EQ(expected->size(), found->size());
  for (size_t i = 0; i < found->size(); ++i) {
    const std::string& key = (*found)[i].key;
    EXPECT_EQ((*expected)[i].key, key);
    EXPECT_TRUE(*golden.Get(key) == *fresh.Get(key)) << key << " differs";
  }
}

TEST(GoldenTest, ReadsGoldenFiles) {
  storage::FileStore golden(kGoldenFolder);
  const graph::SourceGraph graph = TinyGraph();
  const auto report = VerifyPartitioning(golden, "", {.source = &graph, .data_dir = {}});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_THAT(report->violations, ::testing::ElementsAre());
}

// Checks the manifest against docs/partition-format.md.
TEST(GoldenTest, ManifestMatchesDocumentation) {
  storage::FileStore golden(kGoldenFolder);
  const auto manifest = nlohmann::json::parse(*golden.Get("manifest.json"));
  EXPECT_EQ(manifest["format"], "espalier.partitioned-graph");
  EXPECT_EQ(manifest["format_version"], 1);
  EXPECT_EQ(manifest["node_types"][0]["name"], "author");
  EXPECT_EQ(manifest["node_types"][1]["first"], nlohmann::json({0, 3, 5}));
  EXPECT_EQ(manifest["edge_types"][1]["relation"], "cites");
  EXPECT_EQ(manifest["edge_types"][1]["first"], nlohmann::json({0, 2, 7}));
  EXPECT_EQ(manifest["splits"][0]["train"], 3);
  EXPECT_EQ(manifest["partitions"][1]["graph"]["key"], "attempt-1/part-00001/graph.safetensors");
  EXPECT_EQ(manifest["partitions"][1]["graph"]["xxh3_64"].size(), 1u);
  EXPECT_EQ(manifest["quality"]["cut_edges"], 6);
}

}  // namespace
}  // namespace espalier::format
