#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"
#include "services/format/source/testing/zip_files.h"

namespace espalier::format {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Npy;
using testing::TemporaryFolder;
using testing::Zip;

using Members = std::vector<std::pair<std::string, std::string>>;

template <class T>
std::string Array(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
  return Npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", BytesOf(values));
}

std::string CountArray(int64_t count) { return Array<int64_t>("<i8", "(1,)", {count}); }

Result<graph::SourceGraph> Read(const TemporaryFolder& folder) {
  return ReadSourceGraph({.format = SourceFormat::kOgb, .path = folder.path(), .threads = 2});
}

// Returns a triangle 0 -> 1 -> 2 -> 0 and an isolated node 3, in the layout of ogbn-papers100M.
Members Triangle() {
  return {{"edge_index.npy", Array<int64_t>("<i8", "(2, 3)", {0, 1, 2, 1, 2, 0})},
          {"num_nodes_list.npy", CountArray(4)},
          {"num_edges_list.npy", CountArray(3)},
          {"node_feat.npy", Array<float>("<f4", "(4, 1)", {0, 1, 2, 3})},
          {"node_year.npy", Array<int64_t>("<i8", "(4, 1)", {1999, 2000, 2001, 2002})},
          {"edge_weight.npy", Array<float>("<f4", "(3, 1)", {.5F, 1, 2})}};
}

void WriteTriangle(const TemporaryFolder& folder, const Members& data) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  folder.Write("raw/data.npz", Zip(data));
  folder.Write("raw/node-label.npz", Zip({{"node_label.npy", Array<float>("<f4", "(4, 1)", {0, 1, none, 2})}}));
  folder.Write("split/time/train.csv", "0\n");
  folder.Write("split/time/valid.csv", "1\n");
  folder.Write("split/time/test.csv", "3\n");
}

TEST(OgbBinaryReaderTest, ReadsTheHomogeneousLayout) {
  const TemporaryFolder folder;
  WriteTriangle(folder, Triangle());

  const Result<graph::SourceGraph> graph = Read(folder);

  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->schema.EdgeType(EdgeTypeId(0)).Name(), "node:edge:node");
  EXPECT_EQ(graph->nodes[0].count, 4u);
  EXPECT_THAT(graph->edges[0].sources.values<int64_t>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(graph->edges[0].destinations.values<int64_t>(), ElementsAre(1, 2, 0));
  EXPECT_EQ(graph->nodes[0].columns.at("node-feat").ToString(), "F32 [4, 1]");
  EXPECT_EQ(graph->nodes[0].columns.at("node_year").ToString(), "I64 [4]");
  EXPECT_EQ(graph->edges[0].columns.at("edge_weight").ToString(), "F32 [3]");
  EXPECT_THAT(graph->nodes[0].columns.at("node-label").values<int64_t>(), ElementsAre(0, 1, -1, 2));
  EXPECT_THAT(graph->splits.at("time").at(0).train, ElementsAre(0));
}

TEST(OgbBinaryReaderTest, ReadsTheHeterogeneousLayout) {
  const TemporaryFolder folder;
  folder.Write("raw/num_nodes_dict.npz", Zip({{"paper.npy", CountArray(2)}, {"author.npy", CountArray(3)}}));
  folder.Write("raw/num_edges_dict.npz",
               Zip({{"author___writes___paper.npy", CountArray(2)}, {"paper___cites___paper.npy", CountArray(1)}}));
  folder.Write("raw/edge_index_dict.npz",
               Zip({{"author___writes___paper.npy", Array<int64_t>("<i8", "(2, 2)", {2, 0, 1, 1})},
                    {"paper___cites___paper.npy", Array<int64_t>("<i8", "(2, 1)", {0, 1})}}));
  folder.Write("raw/node_feat_dict.npz", Zip({{"paper.npy", Array<float>("<f4", "(2, 1)", {1, 2})}}));
  folder.Write("raw/edge_reltype_dict.npz",
               Zip({{"author___writes___paper.npy", Array<int64_t>("<i8", "(2, 1)", {4, 5})}}));
  folder.Write("raw/node-label.npz", Zip({{"paper.npy", Array<int64_t>("<i8", "(2, 1)", {1, 0})}}));
  for (const char* part : {"train", "valid", "test"})
    folder.Write(std::string("split/s/paper/") + part + ".csv", "0\n");
  folder.Write("split/s/paper/valid.csv", "1\n");
  folder.Write("split/s/paper/test.csv", "");

  const Result<graph::SourceGraph> graph = Read(folder);

  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_THAT(graph->schema.node_types(), ElementsAre("author", "paper"));
  EXPECT_EQ(graph->nodes[0].count, 3u);
  EXPECT_THAT(graph->edges[0].sources.values<int64_t>(), ElementsAre(2, 0));
  EXPECT_THAT(graph->edges[0].columns.at("edge_reltype").values<int64_t>(), ElementsAre(4, 5));
  EXPECT_THAT(graph->nodes[1].columns.at("node-feat").values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(graph->nodes[1].columns.at("node-label").values<int64_t>(), ElementsAre(1, 0));
  EXPECT_THAT(graph->splits.at("s").at(1).validation, ElementsAre(1));
}

// Returns the error of reading the triangle with one array replaced, or removed if `bytes` is empty.
std::string ErrorWithMember(const std::string& member, const std::string& bytes) {
  Members data = Triangle();
  std::erase_if(data, [&](const auto& entry) { return entry.first == member; });
  if (!bytes.empty()) data.emplace_back(member, bytes);
  const TemporaryFolder folder;
  WriteTriangle(folder, data);
  const Result<graph::SourceGraph> graph = Read(folder);
  return graph.ok() ? "OK" : graph.status().ToString();
}

TEST(OgbBinaryReaderTest, NamesMismatchedArray) {
  EXPECT_THAT(ErrorWithMember("edge_index.npy", ""), HasSubstr("data.npz has no array 'edge_index'"));
  EXPECT_THAT(ErrorWithMember("edge_index.npy", Array<int64_t>("<i8", "(3, 2)", {0, 1, 1, 2, 2, 0})),
              HasSubstr("'edge_index' of"));
  EXPECT_THAT(ErrorWithMember("edge_index.npy", Array<int64_t>("<i8", "(2, 3)", {0, 1, 4, 1, 2, 0})),
              HasSubstr("OUT_OF_RANGE"));
  EXPECT_THAT(ErrorWithMember("edge_index.npy", Array<int64_t>("<i8", "(2, 2)", {0, 1, 1, 2})),
              HasSubstr("has 2 edges: expected 3"));
  EXPECT_THAT(ErrorWithMember("num_nodes_list.npy", Array<int64_t>("<i8", "(2,)", {2, 2})),
              HasSubstr("expected one number from 0 to 2^40"));
  EXPECT_THAT(ErrorWithMember("num_edges_list.npy", CountArray(-1)), HasSubstr("expected one number from 0 to 2^40"));
  EXPECT_THAT(ErrorWithMember("node_feat.npy", Array<float>("<f4", "(3, 1)", {0, 1, 2})), HasSubstr("expected 4 rows"));
  EXPECT_THAT(ErrorWithMember("stray.npy", CountArray(1)), HasSubstr("expected arrays named node_* or edge_*"));
}

}  // namespace
}  // namespace espalier::format
