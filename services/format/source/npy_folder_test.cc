#include "services/format/source/npy_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/base/failpoint.h"
#include "services/format/source/graph_description.h"
#include "services/format/source/npy_file.h"
#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"
#include "services/graph/generators.h"
#include "services/graph/preprocess.h"
#include "services/graph/testing/small_graphs.h"

namespace espalier::format {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<graph::SourceGraph> Read(const std::string& path) {
  return ReadSourceGraph({.format = SourceFormat::kNpy, .path = path});
}

TEST(NpyFolderTest, SkipsAByteOrderMarkOfTheDescription) {
  const testing::TemporaryFolder folder;
  folder.Write("graph.yaml",
               "\xEF\xBB\xBF"
               "version: 1\r\nname: g\r\nnodes:\r\n- {type: a, count: 3}\r\n");
  const Result<graph::SourceGraph> graph = Read(folder.path());
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes[0].count, 3u);
}

void ExpectSameTensor(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.ToString(), b.ToString());
  EXPECT_TRUE(std::equal(a.byte_span().begin(), a.byte_span().end(), b.byte_span().begin()));
}

void ExpectSameGraph(const graph::SourceGraph& a, const graph::SourceGraph& b) {
  EXPECT_EQ(a.name, b.name);
  ASSERT_EQ(a.schema, b.schema);
  for (size_t t = 0; t < a.nodes.size(); ++t) {
    EXPECT_EQ(a.nodes[t].count, b.nodes[t].count);
    ASSERT_EQ(a.nodes[t].columns.size(), b.nodes[t].columns.size());
    for (const auto& [name, column] : a.nodes[t].columns) ExpectSameTensor(column, b.nodes[t].columns.at(name));
  }
  for (size_t t = 0; t < a.edges.size(); ++t) {
    ExpectSameTensor(a.edges[t].sources, b.edges[t].sources);
    ExpectSameTensor(a.edges[t].destinations, b.edges[t].destinations);
    EXPECT_EQ(a.edges[t].original_ids.empty(), b.edges[t].original_ids.empty());
    if (!a.edges[t].original_ids.empty()) ExpectSameTensor(a.edges[t].original_ids, b.edges[t].original_ids);
    ASSERT_EQ(a.edges[t].columns.size(), b.edges[t].columns.size());
    for (const auto& [name, column] : a.edges[t].columns) ExpectSameTensor(column, b.edges[t].columns.at(name));
  }
  ASSERT_EQ(a.splits.size(), b.splits.size());
  for (const auto& [name, by_type] : a.splits) {
    for (const auto& [type, split] : by_type) {
      const graph::NodeSplit& other = b.splits.at(name).at(type);
      EXPECT_EQ(split.train, other.train);
      EXPECT_EQ(split.validation, other.validation);
      EXPECT_EQ(split.test, other.test);
    }
  }
}

TEST(NpyFolderTest, RoundTrips) {
  const testing::TemporaryFolder folder;
  graph::TypedOptions typed{.num_papers = 200, .num_authors = 100, .features = {.width = 3, .dtype = DType::kBF16}};
  const std::vector<graph::SourceGraph> graphs = {
      graph::testing::TypedExample(), *graph::GenerateTypedGraph(typed, 1),
      *graph::Preprocess(graph::testing::TypedExample(), {.add_reverse_edges = true}, 1)};
  for (size_t i = 0; i < graphs.size(); ++i) {
    const std::string path = folder.path() + "/new/graph-" + std::to_string(i) + (i == 0 ? "/" : "");
    WorkMeter meter;
    ASSERT_EQ(WriteNpyFolder(graphs[i], path, {}, &meter), Status());
    EXPECT_GT(meter.expected_bytes(), 0u);
    EXPECT_GE(meter.done_bytes(), meter.expected_bytes());  // splits are not in the expected bytes
    const Result<graph::SourceGraph> back = Read(path);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    ExpectSameGraph(graphs[i], *back);
  }
}

// Names may contain dots and underscores. Some names of this test give equal file names, others give file names that
// are longer than a file system allows.
TEST(NpyFolderTest, ArraysOfTheSameNameHaveFilesOfTheirOwn) {
  const std::string long_name(128, 'x');
  graph::SourceGraph graph;
  graph.name = "alike";
  graph.schema = *graph::GraphSchema::Make({"a", "a_", "a_.b", "c", long_name},
                                           {{"a", "_b", "c"}, {"a_", "b", "c"}, {long_name, long_name, long_name}});
  for (uint64_t type = 0; type < 5; ++type) {
    graph::NodeSet& nodes = graph.nodes.emplace_back();
    nodes.count = 4;
    nodes.columns[type == 1   ? "b.mean"
                  : type == 2 ? "mean"
                              : long_name] = Tensor::FromVector(std::vector<int64_t>(4, static_cast<int64_t>(type)));
  }
  for (int64_t type = 0; type < 3; ++type) {
    graph::EdgeSet& edges = graph.edges.emplace_back();
    edges.sources = Tensor::FromVector(std::vector<int64_t>{type, 0});
    edges.destinations = Tensor::FromVector(std::vector<int64_t>{3, type});
    edges.columns[long_name] = Tensor::FromVector(std::vector<int64_t>{type, type});
  }
  graph.splits["s.a_"][2].train = {1};  // split.s.a_.a_.b.train
  graph.splits["s.a_.a_"][2].train = {2};
  graph.splits["s"][1].train = {3};
  const testing::TemporaryFolder folder;
  ASSERT_EQ(WriteNpyFolder(graph, folder.path() + "/g"), Status());
  const Result<graph::SourceGraph> back = Read(folder.path() + "/g");
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  ExpectSameGraph(graph, *back);
}

TEST(NpyFolderTest, KeepsExistingFolderAndLeavesNoPartialFiles) {
  const testing::TemporaryFolder folder;
  folder.Write("graph/precious.txt", "mine");
  EXPECT_EQ(WriteNpyFolder(graph::testing::PathGraph(3), folder.path() + "/graph").code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/graph/precious.txt"));

  folder.Write("file", "");
  EXPECT_FALSE(WriteNpyFolder(graph::testing::PathGraph(3), folder.path() + "/file/graph").ok());
  ASSERT_TRUE(ArmFailpoints("graph.before_rename=error:RESOURCE_EXHAUSTED").ok());
  EXPECT_FALSE(WriteNpyFolder(graph::testing::PathGraph(3), folder.path() + "/other").ok());
  ASSERT_TRUE(ArmFailpoints("").ok());
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) entries += entry.exists() ? 1 : 0;
  EXPECT_EQ(entries, 2u);  // the graph and the file
}

// A description with all fields.
const char kDescription[] = R"(version: 1
name: citations
nodes:
  - type: paper
    columns:
      node-feat: {file: feat.npy, dtype: BF16}
      node-label: label.npy
  - {type: author, count: 2}
edges:
  - type: [paper, cites, paper]
    ids: cites.npy
  - type: author:writes:paper
    sources: src.npy
    destinations: dst.npy
    columns: {weight: weight.npy}
splits:
  - name: public
    type: paper
    train: mask.npy
    test: sub/test.npy
)";

void WriteDescribed(const testing::TemporaryFolder& folder, const std::string& yaml = kDescription) {
  const auto npy = [](const std::string& descr, const std::string& shape, const std::string& data) {
    return testing::Npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data);
  };
  folder.Write("graph.yaml", yaml);
  folder.Write("feat.npy", npy("<u2", "(3, 1)", testing::BytesOf<uint16_t>({0x3F80, 0x4000, 0})));
  folder.Write("label.npy", npy("<i8", "(3,)", testing::BytesOf<int64_t>({0, 1, 0})));
  folder.Write("cites.npy", npy("<i8", "(2, 2)", testing::BytesOf<int64_t>({0, 1, 2, 0})));
  folder.Write("src.npy", npy("<i4", "(1,)", testing::BytesOf<int32_t>({1})));
  folder.Write("dst.npy", npy("<i4", "(1,)", testing::BytesOf<int32_t>({2})));
  folder.Write("weight.npy", npy("<f2", "(1,)", testing::BytesOf<uint16_t>({0x3C00})));
  folder.Write("mask.npy", npy("|b1", "(3,)", std::string("\1\0\1", 3)));
  folder.Write("sub/test.npy", npy("<i8", "(1,)", testing::BytesOf<int64_t>({1})));
}

TEST(NpyFolderTest, ReadsEveryFieldOfDescription) {
  const testing::TemporaryFolder folder;
  WriteDescribed(folder);

  const Result<graph::SourceGraph> graph = Read(folder.path());

  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->name, "citations");
  EXPECT_EQ(graph->nodes[0].count, 2u);
  EXPECT_EQ(graph->nodes[1].count, 3u);
  EXPECT_EQ(graph->nodes[1].columns.at("node-feat").ToString(), "BF16 [3, 1]");
  const graph::EdgeSet& cites = graph->edges_of(*graph->schema.FindEdgeType("cites"));
  EXPECT_THAT(cites.sources.values<int64_t>(), ElementsAre(0, 1));
  EXPECT_THAT(cites.destinations.values<int64_t>(), ElementsAre(2, 0));
  const graph::EdgeSet& writes = graph->edges_of(*graph->schema.FindEdgeType("writes"));
  EXPECT_THAT(writes.destinations.values<int32_t>(), ElementsAre(2));
  EXPECT_EQ(writes.columns.at("weight").ValueAsDouble(0), 1.0);
  EXPECT_THAT(graph->splits.at("public").at(1).train, ElementsAre(0, 2));
  EXPECT_THAT(graph->splits.at("public").at(1).validation, IsEmpty());
  EXPECT_THAT(graph->splits.at("public").at(1).test, ElementsAre(1));
}

// Returns the error of reading the folder after `from` was replaced by `to` in the description.
std::string ErrorWithLine(const std::string& from, const std::string& to) {
  const testing::TemporaryFolder folder;
  std::string yaml = kDescription;
  const size_t at = yaml.find(from);
  ESPALIER_CHECK(at != std::string::npos) << from;
  WriteDescribed(folder, yaml.replace(at, from.size(), to));
  const Result<graph::SourceGraph> graph = Read(folder.path());
  return graph.ok() ? "OK" : graph.status().ToString();
}

TEST(NpyFolderTest, NamesInvalidLine) {
  EXPECT_THAT(ErrorWithLine("version: 1", "version: 2"), HasSubstr("graph.yaml: line 1: version 2 of graph.yaml"));
  EXPECT_THAT(ErrorWithLine("version: 1", "verzion: 1"),
              HasSubstr("line 1: graph.yaml has an unknown field 'verzion'"));
  EXPECT_THAT(ErrorWithLine("name: citations", "name: [oops"), HasSubstr("line "));
  EXPECT_THAT(ErrorWithLine(kDescription, ""), HasSubstr("graph.yaml: line 1: graph.yaml: expected a map of fields"));
  EXPECT_THAT(ErrorWithLine("name: citations", "version: 1"),
              HasSubstr("line 2: graph.yaml has the field 'version' twice"));
  EXPECT_THAT(ErrorWithLine("count: 2", "count: -2"), HasSubstr("line 8: 'count' is '-2': expected a number"));
  EXPECT_THAT(ErrorWithLine(", count: 2", ""), HasSubstr("line 8: node type 'author' has neither 'count' nor columns"));
  EXPECT_THAT(ErrorWithLine("dtype: BF16", "dtype: F8"), HasSubstr("line 6: "));
  EXPECT_THAT(ErrorWithLine("author:writes:paper", "author:writes"), HasSubstr("line 12: edge type 'author:writes'"));
  EXPECT_THAT(ErrorWithLine("    ids: cites.npy\n", ""),
              HasSubstr("line 10: edge type 'paper:cites:paper': expected either 'ids'"));
  EXPECT_THAT(ErrorWithLine("[paper, cites, paper]", "[paper, cites, book]"),
              HasSubstr("there is no node type 'book'"));
  EXPECT_THAT(ErrorWithLine("src.npy", "../src.npy"),
              HasSubstr("line 13: '../src.npy' is not the name of a file below"));
  EXPECT_THAT(ErrorWithLine("src.npy", "/etc/passwd"), HasSubstr("line 13"));
  EXPECT_THAT(ErrorWithLine("    type: paper\n    train", "    train"), HasSubstr("a split needs the field 'type'"));
}

TEST(NpyFolderTest, NamesMismatchedFile) {
  EXPECT_THAT(ErrorWithLine("label.npy", "gone.npy"),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("graph.yaml:7: opening ")));
  EXPECT_THAT(ErrorWithLine("label.npy", "cites.npy"),
              HasSubstr("column 'node-label' in cites.npy is I64 [2, 2]: expected 3 rows"));
  EXPECT_THAT(ErrorWithLine("ids: cites.npy", "ids: feat.npy"),
              HasSubstr("graph.yaml:11: feat.npy: edges are U16 [3, 1]: expected [2, m]"));
  EXPECT_THAT(ErrorWithLine("dst.npy", "label.npy"), HasSubstr("sources are I32 [1], destinations are I64 [3]"));
  EXPECT_THAT(ErrorWithLine("train: mask.npy", "train: label.npy"), HasSubstr("train: node 0 occurs more than once"));
  EXPECT_THAT(ErrorWithLine("type: paper\n    train", "type: author\n    train"),
              ContainsRegex("reading [^ ]+: graph.yaml:[0-9]+: mask.npy: the mask is BOOL .3.: expected .2."));
  EXPECT_THAT(ErrorWithLine("train: mask.npy", "train: gone.npy"),
              ContainsRegex("reading [^ ]+: graph.yaml:[0-9]+: opening "));
  EXPECT_THAT(ErrorWithLine("count: 2", "count: 1"), HasSubstr("OUT_OF_RANGE"));
}

TEST(NpyFolderTest, ABoolIsZeroOrOne) {
  const testing::TemporaryFolder folder;
  std::string yaml = kDescription;
  const std::string label = "label.npy";
  WriteDescribed(folder, yaml.replace(yaml.find(label), label.size(), "flags.npy"));
  folder.Write("flags.npy",
               testing::Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\1\0\xff", 3)));
  EXPECT_THAT(
      Read(folder.path()).status().ToString(),
      AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'node-label' row 2, at index 0, is 255: expected 0 or 1")));
}

TEST(GraphDescriptionTest, YamlRoundTrips) {
  const GraphDescription description = *ParseGraphDescription(kDescription);
  const GraphDescription again = *ParseGraphDescription(GraphDescriptionToYaml(description));
  EXPECT_EQ(GraphDescriptionToYaml(again), GraphDescriptionToYaml(description));
  EXPECT_EQ(again.nodes[0].columns.at("node-feat").dtype, DType::kBF16);
  EXPECT_EQ(again.edges[1].sources->file, "src.npy");
}

TEST(GraphDescriptionTest, RefusesInvalidDescriptions) {
  for (const char* bad : {"", "4", "[]", "version: 1", "version: 1\nnodes: 4", "version: 1\nnodes: [4]",
                          "version: 1\nnodes: [{type: a, count: 1, columns: [x]}]", "\t", "a: &x [*x]",
                          "version: 1\nnodes: [{type: a, columns: {x: \xBD.npy}}]",
                          "version: 1\nnodes: [{type: a, count: 1}]\nedges: [{type: [[1], 2, 3], ids: x}]"}) {
    EXPECT_EQ(ParseGraphDescription(bad).status().code(), StatusCode::kInvalidArgument) << bad;
  }
}

TEST(GraphDescriptionTest, AliasCountsWithItsExpandedSize) {
  const std::string nodes = "version: 1\nnodes: [{type: n, count: 4}]\nedges:\n";
  const Result<GraphDescription> shared = ParseGraphDescription(
      nodes +
      "- {type: 'n:a:n', ids: a.npy, columns: &both {w: w.npy, t: t.npy}}\n- {type: 'n:b:n', ids: b.npy, "
      "columns: *both}\n");
  ASSERT_TRUE(shared.ok()) << shared.status().ToString();
  EXPECT_EQ(shared->edges[1].columns.at("t").file, "t.npy");

  std::string columns, aliases;
  for (int i = 0; i < 2200; ++i) {
    columns += "c" + std::to_string(i) + ": x, ";
    aliases += "- *e\n";
  }
  const Status bomb =
      ParseGraphDescription(nodes + "- &e {type: 'n:a:n', ids: a.npy, columns: {" + columns + "}}\n" + aliases)
          .status();
  EXPECT_EQ(bomb.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(bomb.message(),
              AllOf(HasSubstr("line "), HasSubstr("more than 2^22 values after the expansion of aliases")));
  EXPECT_THAT(ParseGraphDescription("version: 1\nnodes: &all [*all]\n").status().message(),
              HasSubstr("line 2: an alias inside its own anchor"));
}

TEST(NpyFolderTest, EdgeSplitsRoundTrip) {
  graph::SourceGraph graph = graph::testing::PathGraph(6);
  graph.edge_splits["links"][0] = {.train = {{0, 1, 1}, {1, 2, 2}}, .validation = {{5}, {0}}, .test = {}};
  graph.edge_splits["numbered"][0] = {.train = {{0, 1}, {1, 2}, {0, 2}}, .validation = {}, .test = {{5}, {0}}};
  const testing::TemporaryFolder folder;
  ASSERT_EQ(WriteNpyFolder(graph, folder.path() + "/g"), Status());

  const Result<graph::SourceGraph> read = Read(folder.path() + "/g");

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ExpectSameGraph(*read, graph);
  const graph::EdgeSplit& split = read->edge_splits.at("links").at(0);
  EXPECT_EQ(split.train, graph.edge_splits["links"][0].train);
  EXPECT_EQ(split.validation, graph.edge_splits["links"][0].validation);
  EXPECT_EQ(split.test.size(), 0u);
  const graph::EdgeSplit& numbered = read->edge_splits.at("numbered").at(0);
  EXPECT_EQ(numbered.train, graph.edge_splits["numbered"][0].train);
  EXPECT_EQ(numbered.test, graph.edge_splits["numbered"][0].test);  // pairs without edge ids
  const graph::EdgePairs copy = split.train;                        // a copy shares the lists, which may be long
  EXPECT_EQ(copy.sources.begin(), split.train.sources.begin());
  EXPECT_EQ(copy.destinations.begin(), split.train.destinations.begin());
}

// For example, all edges may have been held out.
TEST(NpyFolderTest, NumberedSplitsOfEmptyTypeRoundTrip) {
  graph::SourceGraph graph = graph::testing::PathGraph(6);
  graph.edges[0].sources = graph.edges[0].destinations = Tensor::FromVector(std::vector<int64_t>());
  graph.edges[0].columns.clear();
  graph.edge_splits["numbered"][0] = {.train = {}, .validation = {{0, 1}, {1, 2}, {0, 2}}, .test = {}};
  const testing::TemporaryFolder folder;
  ASSERT_EQ(WriteNpyFolder(graph, folder.path() + "/g"), Status());
  const Result<graph::SourceGraph> read = Read(folder.path() + "/g");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->edge_splits.at("numbered").at(0).validation, graph.edge_splits["numbered"][0].validation);
}

TEST(NpyFolderTest, SplitsOfEdgesMayBeRowsOrMasksOfTheEdgeList) {
  const testing::TemporaryFolder folder;
  ASSERT_EQ(WriteNpy(folder.path() + "/e.npy", Tensor::FromVector<int64_t>({0, 1, 2, 3, 1, 2, 3, 0}, {2, 4})),
            Status());
  ASSERT_EQ(WriteNpy(folder.path() + "/rows.npy", Tensor::FromVector<int32_t>({3, 0})), Status());
  Tensor mask = Tensor::Zeros(DType::kBool, {4});
  mask.mutable_bytes()[2] = std::byte{1};
  ASSERT_EQ(WriteNpy(folder.path() + "/mask.npy", mask), Status());
  ASSERT_EQ(WriteNpy(folder.path() + "/far.npy", Tensor::FromVector<int64_t>({4})), Status());
  ASSERT_EQ(WriteNpy(folder.path() + "/wide.npy", Tensor::FromVector<int64_t>({1, 2, 3, 0}, {4, 1})), Status());
  const std::string graph = "version: 1\nnodes: [{type: n, count: 4}]\nedges: [{type: 'n:e:n', ids: e.npy}]\nsplits:\n";

  folder.Write("graph.yaml", graph + "- {name: s, edge_type: [n, e, n], train: rows.npy, test: mask.npy}\n");
  const Result<graph::SourceGraph> read = Read(folder.path());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->edge_splits.at("s").at(0).train, (graph::EdgePairs{{3, 0}, {0, 1}, {3, 0}}));
  EXPECT_EQ(read->edge_splits.at("s").at(0).test, (graph::EdgePairs{{2}, {3}, {2}}));
  const graph::EdgePairs copy = read->edge_splits.at("s").at(0).train;
  EXPECT_EQ(copy.sources.begin(), read->edge_splits.at("s").at(0).train.sources.begin());

  const auto refusal = [&](const std::string& split) {
    folder.Write("graph.yaml", graph + split);
    return Read(folder.path()).status().message();
  };
  const auto refusal_of_numbers = [&](const std::vector<int64_t>& pairs) {
    const auto num_pairs = static_cast<int64_t>(pairs.size() / 3);
    ESPALIER_CHECK(WriteNpy(folder.path() + "/numbers.npy", Tensor::FromVector(pairs, {3, num_pairs})).ok());
    return refusal("- {name: s, edge_type: 'n:e:n', train: numbers.npy}\n");
  };
  EXPECT_THAT(refusal_of_numbers({0, 1, 1, 2, 0, 1}), IsEmpty());
  EXPECT_THAT(refusal_of_numbers({0, 1, 1, 2, 0, 4}),
              AllOf(HasSubstr("graph.yaml:5: numbers.npy"), HasSubstr("pair 1 has edge id 4"), HasSubstr("4 edges")));
  EXPECT_THAT(refusal_of_numbers({0, 1, 1, 2, -1, 1}), HasSubstr("pair 0 has edge id -1"));
  EXPECT_THAT(refusal_of_numbers({0, 1, 1, 2, 0, 2}),
              HasSubstr("pair 1 has edge id 2: that edge is 2 to 3, but the pair is 1 to 2"));
  EXPECT_THAT(refusal("- {name: s, edge_type: 'n:e:n', train: far.npy}\n"),
              AllOf(HasSubstr("graph.yaml:5"), HasSubstr("edge 4 does not exist")));
  EXPECT_THAT(refusal("- {name: s, edge_type: 'n:e:n', train: wide.npy}\n"), HasSubstr("expected pairs"));
  EXPECT_THAT(refusal("- {name: s, edge_type: 'n:x:n', train: rows.npy}\n"), HasSubstr("n:x:n"));
  EXPECT_THAT(refusal("- {name: s, type: n, edge_type: 'n:e:n', train: rows.npy}\n"),
              HasSubstr("expected one of them"));

  // The split refers to a row without a destination.
  ASSERT_EQ(WriteNpy(folder.path() + "/src.npy", Tensor::FromVector<int64_t>({0, 1, 2, 3})), Status());
  ASSERT_EQ(WriteNpy(folder.path() + "/dst.npy", Tensor::FromVector<int64_t>({1, 2})), Status());
  folder.Write("graph.yaml",
               "version: 1\nnodes: [{type: n, count: 4}]\nedges:\n- type: 'n:e:n'\n  sources: src.npy\n"
               "  destinations: dst.npy\nsplits: [{name: s, edge_type: 'n:e:n', train: rows.npy}]\n");
  EXPECT_THAT(Read(folder.path()).status().message(),
              HasSubstr("graph.yaml:6: sources are I64 [4], destinations are I64 [2]: expected the same dtype"));
}

}  // namespace
}  // namespace espalier::format
