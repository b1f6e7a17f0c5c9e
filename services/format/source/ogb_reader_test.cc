#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"

namespace espalier::format {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<graph::SourceGraph> ReadOgbFolder(const std::string& path) {
  return ReadSourceGraph({.format = SourceFormat::kOgb, .path = path, .threads = 2});
}

// Returns the error of reading the triangle after one file was replaced.
std::string ErrorWithFile(const std::string& name, const std::string& bytes) {
  const testing::TemporaryFolder folder;
  testing::WriteOgbTriangle(folder);
  folder.Write(name, bytes);
  const Result<graph::SourceGraph> graph = ReadOgbFolder(folder.path());
  return graph.ok() ? "OK" : graph.status().ToString();
}

TEST(OgbReaderTest, ReadsTheHomogeneousLayout) {
  const testing::TemporaryFolder folder;
  testing::WriteOgbTriangle(folder);
  folder.Write("raw/node_year.csv", "1999\n2000\n2001\n2002\n");
  folder.Write("raw/edge-feat.csv", "1\n2\n3");

  const Result<graph::SourceGraph> graph = ReadOgbFolder(folder.path() + "/");

  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->name, std::filesystem::path(folder.path()).filename());
  EXPECT_EQ(graph->schema.EdgeType(EdgeTypeId(0)).Name(), "node:edge:node");
  EXPECT_EQ(graph->nodes[0].count, 4u);
  EXPECT_THAT(graph->edges[0].sources.values<uint32_t>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(graph->edges[0].destinations.values<uint32_t>(), ElementsAre(1, 2, 0));
  EXPECT_EQ(graph->edges[0].columns.at("edge-feat").ToString(), "F32 [3, 1]");
  EXPECT_EQ(graph->nodes[0].columns.at("node-feat").ToString(), "F32 [4, 2]");
  EXPECT_THAT(graph->nodes[0].columns.at("node-feat").values<float>(), ElementsAre(0, .5f, 1, 1.5f, 2, 2.5f, 3, 3.5f));
  EXPECT_THAT(graph->nodes[0].columns.at("node-label").values<int64_t>(), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(graph->nodes[0].columns.at("node_year").values<int64_t>(), ElementsAre(1999, 2000, 2001, 2002));
  EXPECT_THAT(graph->splits.at("public").at(0).train, ElementsAre(0, 2));
  EXPECT_THAT(graph->splits.at("public").at(0).validation, ElementsAre(1));
  EXPECT_THAT(graph->splits.at("public").at(0).test, ElementsAre(3));
}

// The files of OGB's link data sets (train.pt), and those that its DatasetSaver writes (split_dict.pt).
TEST(OgbReaderTest, LeavesOutSplitsOfTorchSave) {
  for (const char* file : {"train.pt", "split_dict.pt"}) {
    const testing::TemporaryFolder folder;
    testing::WriteOgbTriangle(folder);
    folder.Write("split/time/" + std::string(file), "PK");
    std::vector<std::string> warnings;
    const Result<graph::SourceGraph> graph =
        ReadSourceGraph({.format = SourceFormat::kOgb, .path = folder.path(), .warnings = &warnings});
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    EXPECT_EQ(graph->splits.size(), 1u);
    EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("split 'time' is omitted: " + folder.path() + "/split/time/" +
                                                      file + " is a file of torch.save"),
                                            HasSubstr("write its arrays as .npy"))));
  }
  EXPECT_THAT(ErrorWithFile("split/time/train.csv", "0\n"), HasSubstr("has neither valid.csv.gz nor valid.csv"));
}

TEST(OgbReaderTest, LabelsWithFractionsAreFloatsAndSeveralAreAMatrix) {
  const testing::TemporaryFolder folder;
  testing::WriteOgbTriangle(folder);
  folder.WriteGzip("raw/node-label.csv.gz", "0,1\n1,1\n2.5,0\n3,1\n");
  const Result<graph::SourceGraph> graph = ReadOgbFolder(folder.path());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].columns.at("node-label").ToString(), "F32 [4, 2]");
  EXPECT_EQ(graph->nodes[0].columns.at("node-label").ValueAsDouble(4), 2.5);
}

TEST(OgbReaderTest, NamesFileAndLineOfABadEdge) {
  const auto edges = [](const std::string& text) { return ErrorWithFile("raw/edge.csv.gz", testing::Gzip(text)); };
  EXPECT_THAT(edges("0,1\n1,4\n2,0\n"),
              AllOf(HasSubstr("OUT_OF_RANGE"), HasSubstr("raw/edge.csv.gz:2: the destination is 4: expected 0 to 3")));
  EXPECT_THAT(edges("0,1\n1,2\n-2,0\n"), HasSubstr("edge.csv.gz:3: the source is -2: expected 0 to 3"));
  EXPECT_THAT(edges("0,1\n1\n2,0\n"), HasSubstr("edge.csv.gz:2 has 1 fields: expected source,destination"));
  EXPECT_THAT(edges("0,1\n1,2,3\n2,0\n"), HasSubstr("edge.csv.gz:2 has 3 fields"));
  EXPECT_THAT(edges("0,1\n1,x\n2,0\n"), HasSubstr("edge.csv.gz:2: the destination is 'x': expected an integer"));
  EXPECT_THAT(edges("0,1\n1,99999999999999999999\n2,0\n"), HasSubstr("expected an integer"));
  EXPECT_THAT(edges("0,1\n1,2\n"), HasSubstr("edge.csv.gz has 2 rows: expected 3"));
  EXPECT_THAT(edges("0,1\n1,2\n2,0\n0,2\n"), HasSubstr("edge.csv.gz has more than 3 rows: expected 3"));
  EXPECT_THAT(edges("0,1\n\n2,0\n"), HasSubstr(":3 follows an empty line"));
}

TEST(OgbReaderTest, NamesFileAndLineOfABadTable) {
  const auto features = [](const std::string& text) {
    return ErrorWithFile("raw/node-feat.csv.gz", testing::Gzip(text));
  };
  EXPECT_THAT(features("1,2\n3\n4,5\n6,7\n"),
              HasSubstr("node-feat.csv.gz:2 has 1 fields: expected 2 as in the lines before"));
  EXPECT_THAT(features("1,2\n3,\n4,5\n6,7\n"), HasSubstr("node-feat.csv.gz:2, field 2 is '': expected a number"));
  EXPECT_THAT(features("1,2\n3,4\n4,nan\n6,7\n"),
              HasSubstr("node-feat.csv.gz:3, field 2 is 'nan': expected a number; only label columns"));
  EXPECT_THAT(features("1,2\n3,4\n4,inf\n6,7\n"), HasSubstr("column 'node-feat' row 2, at index 1, is infinite"));
  EXPECT_THAT(features("1,2\n3,4\n4,5\n"), HasSubstr("node-feat.csv.gz has 3 rows: expected 4"));
  EXPECT_EQ(features("1,2\r\n3,1e-42\r\n4,-5e3\r\n6,+7"), "OK");
  EXPECT_THAT(ErrorWithFile("raw/node-label.csv.gz", testing::Gzip("0\n1\n2\n")),
              HasSubstr("node-label.csv.gz has 3 rows: expected 4"));
  EXPECT_THAT(ErrorWithFile("raw/node-label.csv.gz", testing::Gzip("0\n1\n2\n0\n1\n")),
              HasSubstr("node-label.csv.gz has more than 4 rows: expected 4"));
}

TEST(OgbReaderTest, RefusesGzipThatIsTruncatedOrCorruptOrNone) {
  std::string rows;
  for (int i = 0; i < 3000; ++i) rows += std::to_string(i % 4) + "," + std::to_string(i * 7 % 4) + "\n";
  const std::string whole = testing::Gzip(rows);
  const auto with = [](const std::string& bytes) { return ErrorWithFile("raw/edge.csv.gz", bytes); };
  EXPECT_THAT(ErrorWithFile("raw/node-label.csv.gz", testing::Gzip("0\n1\n2\n0\n").substr(0, 24)),
              AllOf(HasSubstr("DATA_LOSS"), HasSubstr("node-label.csv.gz: the gzip stream is truncated")));
  std::string flipped = testing::Gzip("0,1\n1,2\n2,0\n");
  flipped[flipped.size() - 6] ^= 1;  // in the checksum
  EXPECT_THAT(with(flipped), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("gzip stream is corrupt")));
  EXPECT_THAT(with("0,1\n1,2\n2,0\n"), HasSubstr("or not compressed, although its name ends in .gz"));
  EXPECT_THAT(with(""), HasSubstr("or not compressed, although its name ends in .gz"));
  EXPECT_THAT(with(whole), HasSubstr("more than 3 rows: expected 3"));  // stops at the first excess row
}

TEST(OgbReaderTest, RefusesBadCountsAndMissingFiles) {
  EXPECT_THAT(ErrorWithFile("raw/num-node-list.csv.gz", testing::Gzip("4\n5\n")),
              HasSubstr(":2: one line too many: expected at most 1"));
  EXPECT_THAT(ErrorWithFile("raw/num-node-list.csv.gz", testing::Gzip("-4\n")), HasSubstr("the number is -4"));
  EXPECT_THAT(ErrorWithFile("raw/num-edge-list.csv.gz", testing::Gzip("1099511627777\n")),
              HasSubstr("the number is 1099511627777: expected 0 to 1099511627776"));
  EXPECT_THAT(ErrorWithFile("raw/num-edge-list.csv.gz", testing::Gzip("1099511627776\n")),
              HasSubstr("edge.csv.gz has 3 rows: expected 1099511627776"));
  EXPECT_THAT(ErrorWithFile("raw/num-edge-list.csv.gz", testing::Gzip("")),
              HasSubstr("contains no number: expected one"));
  const testing::TemporaryFolder folder;
  EXPECT_THAT(ReadOgbFolder(folder.path()).status().message(), HasSubstr("it has no folder raw/"));
  testing::WriteOgbTriangle(folder);
  std::filesystem::remove(folder.path() + "/raw/edge.csv.gz");
  EXPECT_EQ(ReadOgbFolder(folder.path()).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(ReadOgbFolder(folder.path()).status().message(), HasSubstr("neither edge.csv.gz nor edge.csv"));
}

TEST(OgbReaderTest, RefusesSplitsOfOtherNodesOrOfNodesTwice) {
  EXPECT_THAT(ErrorWithFile("split/public/test.csv.gz", testing::Gzip("4\n")),
              HasSubstr("test.csv.gz:1: the number is 4"));
  EXPECT_THAT(ErrorWithFile("split/public/test.csv.gz", testing::Gzip("3\n3\n")), HasSubstr("lists node 3 twice"));
  EXPECT_THAT(ErrorWithFile("split/public/test.csv.gz", testing::Gzip("3\n3\n3\n3\n3\n")),
              HasSubstr("test.csv.gz:5: one line too many: expected at most 4"));
  EXPECT_THAT(ErrorWithFile("split/public/test.csv.gz", testing::Gzip("0\n")),
              HasSubstr("node 0 is in both train and test"));
  EXPECT_THAT(ErrorWithFile("split/other/train.csv.gz", testing::Gzip("0\n")),
              HasSubstr("neither valid.csv.gz nor valid.csv"));
}

TEST(OgbReaderTest, AnEmptyGraphIsRefusedAndOneWithoutEdgesIsNot) {
  const testing::TemporaryFolder folder;
  folder.Write("raw/edge.csv", "");
  folder.Write("raw/num-edge-list.csv", "0\n");
  folder.Write("raw/num-node-list.csv", "0\n");
  EXPECT_THAT(ReadOgbFolder(folder.path()).status().message(), HasSubstr("the graph is empty"));
  folder.Write("raw/num-node-list.csv", "3\n");
  EXPECT_TRUE(ReadOgbFolder(folder.path()).ok());
}

// author (2) -writes-> paper (3), paper -cites-> paper, and a type without nodes.
void WriteTyped(const testing::TemporaryFolder& folder) {
  folder.WriteGzip("raw/num-node-dict.csv.gz", "paper,author,venue\n3,2,0\n");
  folder.WriteGzip("raw/triplet-type-list.csv.gz", "paper,cites,paper\nauthor,writes,paper\n");
  folder.WriteGzip("raw/relations/paper___cites___paper/edge.csv.gz", "0,1\n2,1\n");
  folder.WriteGzip("raw/relations/paper___cites___paper/num-edge-list.csv.gz", "2\n");
  folder.WriteGzip("raw/relations/paper___cites___paper/edge_reltype.csv.gz", "0\n0\n");
  folder.WriteGzip("raw/relations/author___writes___paper/edge.csv.gz", "1,2\n");
  folder.WriteGzip("raw/relations/author___writes___paper/num-edge-list.csv.gz", "1\n");
  folder.WriteGzip("raw/node-feat/paper/node-feat.csv.gz", "1\n2\n3\n");
  folder.WriteGzip("raw/node-label/paper/node-label.csv.gz", "0\n1\n0\n");
  folder.WriteGzip("split/time/nodetype-has-split.csv.gz", "paper,author,venue\nTrue,False,False\n");
  folder.WriteGzip("split/time/paper/train.csv.gz", "0\n");
  folder.WriteGzip("split/time/paper/valid.csv.gz", "1\n");
  folder.WriteGzip("split/time/paper/test.csv.gz", "2\n");
}

TEST(OgbReaderTest, ReadsTheHeterogeneousLayout) {
  const testing::TemporaryFolder folder;
  WriteTyped(folder);

  const Result<graph::SourceGraph> graph = ReadOgbFolder(folder.path());

  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_THAT(graph->schema.node_types(), ElementsAre("author", "paper", "venue"));
  EXPECT_EQ(graph->nodes[0].count, 2u);
  EXPECT_EQ(graph->nodes[1].count, 3u);
  EXPECT_EQ(graph->nodes[2].count, 0u);
  const graph::EdgeSet& writes = graph->edges_of(*graph->schema.FindEdgeType("author:writes:paper"));
  EXPECT_THAT(writes.sources.values<uint32_t>(), ElementsAre(1));
  EXPECT_THAT(writes.destinations.values<uint32_t>(), ElementsAre(2));
  const graph::EdgeSet& cites = graph->edges_of(*graph->schema.FindEdgeType("cites"));
  EXPECT_THAT(cites.columns.at("edge_reltype").values<int64_t>(), ElementsAre(0, 0));
  EXPECT_TRUE(graph->nodes[1].columns.contains("node-feat"));
  EXPECT_THAT(graph->splits.at("time").at(1).test, ElementsAre(2));
}

TEST(OgbReaderTest, RefusesTypesThatDoNotFit) {
  const auto with = [](const std::string& name, const std::string& text) {
    const testing::TemporaryFolder folder;
    WriteTyped(folder);
    folder.WriteGzip(name, text);
    return ReadOgbFolder(folder.path()).status().message();
  };
  EXPECT_THAT(with("raw/num-node-dict.csv.gz", "paper,author\n3\n"), HasSubstr("a line with one number for each"));
  EXPECT_THAT(with("raw/num-node-dict.csv.gz", "paper,author\n3,x\n"), HasSubstr("the count of 'author' is 'x'"));
  EXPECT_THAT(with("raw/num-node-dict.csv.gz", "paper\n3\n"), HasSubstr("there is no node type 'author'"));
  EXPECT_THAT(with("raw/triplet-type-list.csv.gz", "paper,cites\n"), HasSubstr(":1 has 2 fields"));
  EXPECT_THAT(with("raw/triplet-type-list.csv.gz", "paper,likes,paper\n"),
              HasSubstr("relations/paper___likes___paper"));
  EXPECT_THAT(with("raw/relations/author___writes___paper/edge.csv.gz", "2,0\n"),
              HasSubstr("edge.csv.gz:1: the source is 2: expected 0 to 1"));
  EXPECT_THAT(with("split/time/editor/train.csv.gz", "0\n"), HasSubstr("there is no node type 'editor'"));
}

TEST(OgbReaderTest, ReadsCora) {
  const Result<graph::SourceGraph> graph = ReadOgbFolder(std::string(ESPALIER_SOURCE_DIR) + "/services/examples/cora");

  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].count, 2708u);
  EXPECT_EQ(graph->edges[0].num_edges(), 10'556u);
  EXPECT_EQ(graph->nodes[0].columns.at("node-feat").ToString(), "F32 [2708, 1433]");
  EXPECT_EQ(graph->nodes[0].columns.at("node-label").ToString(), "I64 [2708]");
  const graph::NodeSplit& split = graph->splits.at("public").at(0);
  EXPECT_EQ(split.train.size(), 140u);
  EXPECT_EQ(split.validation.size(), 500u);
  EXPECT_EQ(split.test.size(), 1000u);
}

}  // namespace
}  // namespace espalier::format
