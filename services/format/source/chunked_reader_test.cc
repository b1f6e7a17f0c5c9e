// Tests with folders as DGL's tools/chunk_graph.py writes them.
#include "services/format/source/chunked_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "services/format/source/npy_file.h"
#include "services/format/source/npy_folder.h"
#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"

namespace espalier::format {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two authors write three papers, one of which cites itself. Arrays have two chunks, with absolute paths of another
// host.
constexpr const char* kLibrary = R"({
  "graph_name": "library",
  "node_type": ["paper", "author"],
  "num_nodes_per_chunk": [[2, 1], [1, 1]],
  "edge_type": ["author:writes:paper", "paper:cites:paper"],
  "num_edges_per_chunk": [[2, 2], [1, 1]],
  "edges": {
    "author:writes:paper": {"format": {"name": "csv", "delimiter": " "},
      "data": ["/home/them/out/edge_index/author:writes:paper0.txt", "/home/them/out/edge_index/author:writes:paper1.txt"]},
    "paper:cites:paper": {"format": {"name": "csv", "delimiter": " "},
      "data": ["edge_index/paper:cites:paper0.txt", "edge_index/paper:cites:paper1.txt"]}},
  "node_data": {
    "paper": {
      "feat": {"format": {"name": "numpy"},
        "data": ["/home/them/out/node_data/paper/feat-0.npy", "/home/them/out/node_data/paper/feat-1.npy"]},
      "train_mask": {"format": {"name": "numpy"},
        "data": ["node_data/paper/train_mask-0.npy", "node_data/paper/train_mask-1.npy"]},
      "year": {"format": {"name": "csv"}, "data": ["node_data/paper/year-0.csv", "node_data/paper/year-1.csv"]}}},
  "edge_data": {
    "author:writes:paper": {
      "order": {"format": {"name": "numpy"}, "data": ["edge_data/author:writes:paper/order-0.npy",
                                                       "edge_data/author:writes:paper/order-1.npy"]},
      "val_mask": {"format": {"name": "numpy"}, "data": ["edge_data/author:writes:paper/val_mask.npy"]}}}
})";

template <class T>
std::string ChunkOf(const std::string& dtype, const std::string& shape, const std::vector<T>& values) {
  return testing::Npy("{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }",
                      testing::BytesOf(values));
}

void WriteLibrary(const testing::TemporaryFolder& folder) {
  folder.Write("metadata.json", kLibrary);
  folder.Write("edge_index/author:writes:paper0.txt", "0 0\n0 1\n");
  folder.Write("edge_index/author:writes:paper1.txt", "1 1\n1 2\n");
  folder.Write("edge_index/paper:cites:paper0.txt", "2 2\n");
  folder.Write("edge_index/paper:cites:paper1.txt", "1 0\n");
  folder.Write("node_data/paper/feat-0.npy", ChunkOf<float>("<f4", "(2, 2)", {0, .5f, 1, 1.5f}));
  folder.Write("node_data/paper/feat-1.npy", ChunkOf<float>("<f4", "(1, 2)", {2, 2.5f}));
  folder.Write("node_data/paper/train_mask-0.npy", ChunkOf<char>("|b1", "(2,)", {1, 0}));
  folder.Write("node_data/paper/train_mask-1.npy", ChunkOf<char>("|b1", "(1,)", {1}));
  folder.Write("node_data/paper/year-0.csv", "1999\n2000\n");
  folder.Write("node_data/paper/year-1.csv", "2001\n");
  folder.Write("edge_data/author:writes:paper/order-0.npy", ChunkOf<int64_t>("<i8", "(2,)", {4, 5}));
  folder.Write("edge_data/author:writes:paper/order-1.npy", ChunkOf<int64_t>("<i8", "(2,)", {6, 7}));
  folder.Write("edge_data/author:writes:paper/val_mask.npy", ChunkOf<uint8_t>("|u1", "(4, 1)", {0, 0, 1, 0}));
}

Result<graph::SourceGraph> ReadChunks(const std::string& path) {
  return ReadSourceGraph({.format = SourceFormat::kDglChunked, .path = path, .threads = 2});
}

TEST(ChunkedReaderTest, SkipsByteOrderMarks) {
  const testing::TemporaryFolder folder;
  WriteLibrary(folder);
  folder.Write("metadata.json", "\xEF\xBB\xBF" + std::string(kLibrary));
  folder.Write("edge_index/paper:cites:paper1.txt",
               "\xEF\xBB\xBF"
               "1 0\r\n");
  folder.Write("node_data/paper/year-1.csv",
               "\xEF\xBB\xBF"
               "2001\n\n\n");
  const Result<graph::SourceGraph> graph = ReadChunks(folder.path());
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
}

// Returns the error of reading the library after one file was replaced.
std::string ErrorWithChunk(const std::string& name, const std::string& bytes) {
  const testing::TemporaryFolder folder;
  WriteLibrary(folder);
  folder.Write(name, bytes);
  const Result<graph::SourceGraph> graph = ReadChunks(folder.path());
  return graph.ok() ? "OK" : graph.status().ToString();
}

// Returns the error of reading the library after a part of metadata.json was replaced.
std::string ErrorWithMetadata(const std::string& part, const std::string& replacement) {
  std::string metadata = kLibrary;
  const size_t at = metadata.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return ErrorWithChunk("metadata.json", metadata.replace(at, part.size(), replacement));
}

void ExpectSameColumns(const std::map<std::string, Tensor>& some, const std::map<std::string, Tensor>& others) {
  ASSERT_EQ(some.size(), others.size());
  for (const auto& [name, column] : some) {
    ASSERT_TRUE(others.contains(name)) << name;
    EXPECT_EQ(others.at(name).ToString(), column.ToString()) << name;
    EXPECT_TRUE(std::ranges::equal(others.at(name).byte_span(), column.byte_span())) << name;
  }
}

TEST(ChunkedReaderTest, JoinsSameArraysInFilesAsInMemory) {
  const testing::TemporaryFolder folder, scratch;
  WriteLibrary(folder);
  folder.Write("node_data/paper/year-1.csv", "2001.5\n");  // converts the integers before it to floats
  folder.Write("edge_data/author:writes:paper/order-0.npy", ChunkOf<int64_t>("<i8", "(2,)", {4, 1LL << 40}));
  const Result<graph::SourceGraph> in_memory = ReadChunks(folder.path());
  ASSERT_TRUE(in_memory.ok()) << in_memory.status().ToString();
  const Result<graph::SourceGraph> in_files =
      ReadChunked({.path = folder.path(), .threads = 2}, scratch.path() + "/made");
  ASSERT_TRUE(in_files.ok()) << in_files.status().ToString();
  EXPECT_EQ(in_files->schema, in_memory->schema);
  EXPECT_EQ(in_files->splits.size(), in_memory->splits.size());
  EXPECT_EQ(in_files->edge_splits.size(), in_memory->edge_splits.size());
  for (size_t type = 0; type < in_memory->nodes.size(); ++type) {
    ExpectSameColumns(in_files->nodes[type].columns, in_memory->nodes[type].columns);
  }
  for (size_t type = 0; type < in_memory->edges.size(); ++type) {
    const graph::EdgeSet &some = in_files->edges[type], &others = in_memory->edges[type];
    ExpectSameColumns(some.columns, others.columns);
    ExpectSameColumns({{"sources", some.sources}, {"destinations", some.destinations}},
                      {{"sources", others.sources}, {"destinations", others.destinations}});
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path() + "/made"));
}

TEST(ChunkedReaderTest, ReportsSameErrorsWithScratchFolder) {
  for (const auto& [file, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"edge_index/author:writes:paper1.txt", "1 1\n1 7\n"},
           {"edge_index/author:writes:paper1.txt", "1 1\n"},
           {"node_data/paper/year-1.csv", "2001,3\n"},
           {"node_data/paper/feat-1.npy", ChunkOf<double>("<f8", "(1, 2)", {2, 2.5})}}) {
    const testing::TemporaryFolder folder, scratch;
    WriteLibrary(folder);
    folder.Write(file, bytes);
    const Status in_memory = ReadChunked({.path = folder.path(), .threads = 2}).status();
    const Status in_files = ReadChunked({.path = folder.path(), .threads = 2}, scratch.path()).status();
    EXPECT_FALSE(in_memory.ok()) << file;
    EXPECT_EQ(in_files.code(), in_memory.code()) << file;
    EXPECT_THAT(in_files.message(), HasSubstr(file));
  }
}

TEST(ChunkedReaderTest, JoinsTheChunksOfEveryType) {
  const testing::TemporaryFolder folder;
  WriteLibrary(folder);
  const Result<graph::SourceGraph> graph = ReadChunks(folder.path());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->name, "library");
  const graph::GraphSchema& schema = graph->schema;
  const graph::NodeSet& papers = graph->nodes_of(*schema.FindNodeType("paper"));
  EXPECT_EQ(graph->nodes_of(*schema.FindNodeType("author")).count, 2u);
  EXPECT_EQ(papers.count, 3u);
  EXPECT_EQ(papers.columns.at("feat").ToString(), "F32 [3, 2]");
  EXPECT_THAT(papers.columns.at("feat").values<float>(), ElementsAre(0, .5f, 1, 1.5f, 2, 2.5f));
  EXPECT_THAT(papers.columns.at("year").values<int64_t>(), ElementsAre(1999, 2000, 2001));
  const graph::EdgeSet& writes = graph->edges_of(*schema.FindEdgeType("writes"));
  EXPECT_THAT(writes.sources.values<uint32_t>(), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(writes.destinations.values<uint32_t>(), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(writes.columns.at("order").values<int64_t>(), ElementsAre(4, 5, 6, 7));
  const graph::EdgeSet& cites = graph->edges_of(*schema.FindEdgeType("cites"));
  EXPECT_THAT(cites.sources.values<uint32_t>(), ElementsAre(2, 1));
  EXPECT_THAT(cites.destinations.values<uint32_t>(), ElementsAre(2, 0));
}

TEST(ChunkedReaderTest, MasksAreASplit) {
  const testing::TemporaryFolder folder;
  WriteLibrary(folder);
  const Result<graph::SourceGraph> graph = ReadChunks(folder.path());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto paper = graph->schema.FindNodeType("paper")->value;
  EXPECT_THAT(graph->splits.at("masks").at(paper).train, ElementsAre(0, 2));
  EXPECT_TRUE(graph->splits.at("masks").at(paper).test.empty());
  const graph::EdgePairs& validation =
      graph->edge_splits.at("masks").at(graph->schema.FindEdgeType("writes")->value).validation;
  EXPECT_THAT(validation.sources, ElementsAre(1));
  EXPECT_THAT(validation.destinations, ElementsAre(1));
  EXPECT_THAT(validation.edge_ids, ElementsAre(2));
}

// For example, WikiCS has a matrix of 20 training masks, and one test mask.
TEST(ChunkedReaderTest, SkipsSplitIfColumnIsNoMask) {
  const testing::TemporaryFolder folder;
  WriteLibrary(folder);
  std::string metadata = kLibrary;
  metadata.replace(metadata.find("\"feat\""), 6, "\"val_mask\"");
  folder.Write("metadata.json", metadata);
  std::vector<std::string> warnings;
  const Result<graph::SourceGraph> read = ReadChunked({.path = folder.path(), .threads = 1, .warnings = &warnings});
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("split 'masks' of node type 'paper' is omitted: column 'val_mask'"),
                                          HasSubstr("expected one integer or bool per row"))));
  EXPECT_FALSE(read->splits.contains(kMaskSplit));
  EXPECT_TRUE(read->edge_splits.contains(kMaskSplit));
}

TEST(ChunkedReaderTest, TotalsByTypeAreEnough) {
  std::string metadata = kLibrary;
  const auto replace = [&](const std::string& part, const std::string& with) {
    metadata.replace(metadata.find(part), part.size(), with);
  };
  replace(R"("num_nodes_per_chunk": [[2, 1], [1, 1]])", R"("num_nodes_per_type": [3, 2])");
  replace(R"("num_edges_per_chunk": [[2, 2], [1, 1]])", R"("num_edges_per_type": [4, 2])");
  EXPECT_EQ(ErrorWithChunk("metadata.json", metadata), "OK");
}

TEST(ChunkedReaderTest, EdgesMayBeNumpy) {
  std::string metadata = kLibrary;
  const std::string csv = R"("paper:cites:paper": {"format": {"name": "csv", "delimiter": " "})";
  metadata.replace(metadata.find(csv), csv.size(), R"("paper:cites:paper": {"format": {"name": "numpy"})");
  const testing::TemporaryFolder folder;
  WriteLibrary(folder);
  folder.Write("metadata.json", metadata);
  folder.Write("edge_index/paper:cites:paper0.txt", ChunkOf<int64_t>("<i8", "(1, 2)", {2, 2}));
  folder.Write("edge_index/paper:cites:paper1.txt", ChunkOf<int64_t>("<i8", "(1, 2)", {1, 0}));
  const Result<graph::SourceGraph> graph = ReadChunks(folder.path());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const graph::EdgeSet& cites = graph->edges_of(*graph->schema.FindEdgeType("cites"));
  EXPECT_THAT(cites.sources.values<int64_t>(), ElementsAre(2, 1));
  EXPECT_THAT(cites.destinations.values<int64_t>(), ElementsAre(2, 0));

  folder.Write("edge_index/paper:cites:paper1.txt", ChunkOf<int64_t>("<i8", "(1, 2)", {1, 3}));
  EXPECT_THAT(ReadChunks(folder.path()).status().ToString(),
              AllOf(HasSubstr("OUT_OF_RANGE"), HasSubstr("paper1.txt, row 0: the destination is 3: expected 0 to 2")));
  folder.Write("edge_index/paper:cites:paper1.txt", ChunkOf<int64_t>("<i8", "(1, 2)", {-1, 0}));
  EXPECT_THAT(ReadChunks(folder.path()).status().message(), HasSubstr("row 0: the source is -1"));
  folder.Write("edge_index/paper:cites:paper1.txt", ChunkOf<int32_t>("<i4", "(1, 2)", {1, 0}));
  EXPECT_THAT(ReadChunks(folder.path()).status().message(), HasSubstr("expected chunks of one dtype"));
  folder.Write("edge_index/paper:cites:paper0.txt", ChunkOf<int64_t>("<i8", "(2,)", {2, 2}));
  EXPECT_THAT(ReadChunks(folder.path()).status().message(), HasSubstr("expected [edges, 2]"));
}

TEST(ChunkedReaderTest, FractionsInOneChunkOfCsvMakeTheColumnFloats) {
  const testing::TemporaryFolder folder;
  WriteLibrary(folder);
  folder.Write("node_data/paper/year-1.csv", "2001.5\n");
  const Result<graph::SourceGraph> graph = ReadChunks(folder.path());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_THAT(graph->nodes_of(*graph->schema.FindNodeType("paper")).columns.at("year").values<float>(),
              ElementsAre(1999, 2000, 2001.5f));
}

TEST(ChunkedReaderTest, ImportKeepsGraph) {
  const testing::TemporaryFolder folder;
  WriteLibrary(folder);
  const Result<graph::SourceGraph> graph = ReadChunks(folder.path());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(WriteNpyFolder(*graph, folder.path() + "/npy"), Status());
  const auto back = ReadSourceGraph({.format = SourceFormat::kNpy, .path = folder.path() + "/npy"});
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->schema, graph->schema);
  EXPECT_EQ(back->splits.at("masks").begin()->second.train, graph->splits.at("masks").begin()->second.train);
}

TEST(ChunkedReaderTest, NamesTheFieldOfBadMetadata) {
  EXPECT_THAT(
      ErrorWithMetadata(R"("name": "csv", "delimiter": " ")", R"("name": "parquet")"),
      AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("metadata.json:8, edges['author:writes:paper'].format.name"),
            HasSubstr("Parquet files are not supported")));
  EXPECT_THAT(ErrorWithMetadata(R"("delimiter": " ")", R"("delimiter": "::")"), HasSubstr("expected one character"));
  EXPECT_THAT(ErrorWithMetadata(R"("delimiter": " ")", R"("delimiter": "1")"), HasSubstr("expected one character"));
  EXPECT_THAT(ErrorWithMetadata(R"("graph_name": "library",)", R"("graph_name": "library")"),
              HasSubstr("metadata.json:"));
  EXPECT_THAT(ErrorWithMetadata(R"([[2, 1], [1, 1]])", R"([[2, 1]])"),
              HasSubstr("metadata.json:4, num_nodes_per_chunk: has 1 entries: expected one for each of 2 types"));
  EXPECT_THAT(ErrorWithChunk("metadata.json", ""), HasSubstr("metadata.json:1, the document: expected an object"));
  EXPECT_THAT(ErrorWithMetadata(R"([[2, 1], [1, 1]])", R"([[2, 1], [1, -1]])"),
              HasSubstr("num_nodes_per_chunk[1][1]: is '-1': expected a number from 0 to 2^40"));
  EXPECT_THAT(ErrorWithMetadata(R"("num_nodes_per_chunk")", R"("num_nodes")"),
              HasSubstr("lacks the field 'num_nodes_per_chunk' (or 'num_nodes_per_type')"));
  EXPECT_THAT(ErrorWithMetadata(R"("author:writes:paper", "paper)", R"("writes", "paper)"),
              HasSubstr("edge_type[0]: edge type 'writes': expected 'source:relation:destination'"));
  EXPECT_THAT(ErrorWithMetadata(R"("paper:cites:paper": {)", R"("paper:likes:paper": {)"),
              HasSubstr("edges: lacks the field 'paper:cites:paper'"));
  EXPECT_THAT(ErrorWithMetadata(R"("author:writes:paper": {
      "order")",
                                R"("author:reads:paper": {
      "order")"),
              HasSubstr("edge_data['author:reads:paper']: there is no such type"));
  EXPECT_THAT(ErrorWithMetadata(R"("feat": {)", R"("fe at": {)"), HasSubstr("node_data['paper']['fe at']"));
  EXPECT_THAT(ErrorWithMetadata(R"("node_type": ["paper", "author"])", R"("node_type": ["paper", "paper"])"),
              HasSubstr("INVALID_ARGUMENT"));
}

TEST(ChunkedReaderTest, RefusesKeysThatOccurTwice) {
  EXPECT_THAT(ErrorWithMetadata(R"("graph_name": "library",)", R"("edge_data": {},)"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("the document: 'edge_data' occurs twice")));
  EXPECT_THAT(ErrorWithMetadata(R"("delimiter": " ")", R"("name": "numpy")"),
              HasSubstr("edges['author:writes:paper'].format: 'name' occurs twice"));
  EXPECT_THAT(ErrorWithMetadata(R"("feat": {"format")", R"("feat": {"data": [], "format")"),
              HasSubstr("node_data['paper']['feat']: 'data' occurs twice"));
  EXPECT_THAT(ErrorWithMetadata(R"("feat": {)", R"("year": {)"), HasSubstr("node_data['paper']: 'year' occurs twice"));
}

TEST(ChunkedReaderTest, RefusesImplausibleCounts) {
  // A list that is referenced by an alias.
  EXPECT_THAT(ErrorWithMetadata(R"([[2, 1], [1, 1]])", R"([&rows [2, 1], *rows])"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("metadata.json:4"), HasSubstr("anchors and aliases")));
  std::string many;
  for (int i = 0; i <= 1 << 16; ++i) many += "\"t\",";
  EXPECT_THAT(ErrorWithMetadata(R"("paper", "author"])", many + R"("author"])"),
              HasSubstr("node_type: names 65538 types: expected at most 2^16"));
}

TEST(ChunkedReaderTest, RefusesFilesOutsideFolder) {
  EXPECT_THAT(ErrorWithMetadata("edge_index/paper:cites:paper0.txt", "../other/paper0.txt"),
              HasSubstr("edges['paper:cites:paper'].data[0]: '../other/paper0.txt' is not a file below the folder"));
  EXPECT_THAT(ErrorWithMetadata("/home/them/out/edge_index/author:writes:paper0.txt", "/etc/passwd"),
              HasSubstr("'/etc/passwd' is not a file below the folder"));
  EXPECT_THAT(ErrorWithMetadata("edge_index/paper:cites:paper0.txt", "nowhere.txt"), HasSubstr("nowhere.txt"));
}

TEST(ChunkedReaderTest, NamesMismatchedChunk) {
  const std::string edges = "edge_index/author:writes:paper1.txt";
  EXPECT_THAT(ErrorWithChunk(edges, "1 1\n1 3\n"),
              AllOf(HasSubstr("OUT_OF_RANGE"), HasSubstr("paper1.txt:2: the destination is 3: expected 0 to 2")));
  EXPECT_THAT(ErrorWithChunk(edges, "1 1\n1,2\n"), HasSubstr("paper1.txt:2 has 1 fields: expected source destination"));
  EXPECT_THAT(ErrorWithChunk(edges, "1 1\n"), HasSubstr("paper1.txt has 1 rows: expected 2"));
  const std::string features = "node_data/paper/feat-1.npy";
  EXPECT_THAT(ErrorWithChunk(features, ChunkOf<float>("<f4", "(2, 2)", {2, 2.5f, 3, 3})),
              AllOf(HasSubstr("node_data['paper']['feat']"), HasSubstr("feat-1.npy has 2 rows: expected 1")));
  EXPECT_THAT(ErrorWithChunk(features, ChunkOf<double>("<f8", "(1, 2)", {2, 2.5})),
              HasSubstr("feat-1.npy is F64 [1, 2], but node_data/paper/feat-0.npy is F32 [2, 2]"));
  const testing::TemporaryFolder folder, scratch;
  WriteLibrary(folder);
  folder.Write("node_data/paper/year-1.csv", "1,2\n");
  for (const auto& read : {ReadChunks(folder.path()), ReadChunked({.path = folder.path()}, scratch.path() + "/made")}) {
    EXPECT_THAT(read.status().message(),
                HasSubstr("node_data/paper/year-1.csv has 2 values per line, but node_data/paper/year-0.csv has 1 "
                          "value: expected the same number in all chunks"));
  }
  EXPECT_THAT(ErrorWithChunk("edge_data/author:writes:paper/val_mask.npy", ChunkOf<uint8_t>("|u1", "(3,)", {0, 0, 1})),
              HasSubstr("the chunks (1 files) have 3 rows: expected 4"));
}

}  // namespace
}  // namespace espalier::format
