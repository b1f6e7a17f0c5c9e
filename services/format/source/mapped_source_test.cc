// MapSourceGraph, which builds arrays in files, must return the same graph as ReadSourceGraph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"
#include "services/format/source/testing/zip_files.h"

namespace espalier::format {
namespace {

using testing::BytesOf;
using ::testing::HasSubstr;
using testing::Npy;
using testing::TemporaryFolder;
using testing::Zip;

template <class T>
std::string ArrayOf(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
  return Npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", BytesOf(values));
}

std::string CountOf(int64_t count) { return ArrayOf<int64_t>("<i8", "(1,)", {count}); }

void ExpectEqualColumns(const std::map<std::string, Tensor>& some, const std::map<std::string, Tensor>& others) {
  ASSERT_EQ(some.size(), others.size());
  for (const auto& [name, column] : some) {
    ASSERT_TRUE(others.contains(name)) << name;
    EXPECT_EQ(others.at(name).ToString(), column.ToString()) << name;
    EXPECT_TRUE(std::ranges::equal(others.at(name).byte_span(), column.byte_span())) << name;
  }
}

void ExpectEqualSplits(const graph::SourceGraph& some, const graph::SourceGraph& others) {
  ASSERT_EQ(some.splits.size(), others.splits.size());
  for (const auto& [name, by_type] : some.splits) {
    for (const auto& [type, split] : by_type) {
      const graph::NodeSplit& other = others.splits.at(name).at(type);
      EXPECT_EQ(split.train, other.train) << name;
      EXPECT_EQ(split.validation, other.validation) << name;
      EXPECT_EQ(split.test, other.test) << name;
    }
  }
  ASSERT_EQ(some.edge_splits.size(), others.edge_splits.size());
  for (const auto& [name, by_type] : some.edge_splits) {
    ASSERT_EQ(by_type.size(), others.edge_splits.at(name).size());
    for (const auto& [type, split] : by_type) {
      const graph::EdgeSplit& other = others.edge_splits.at(name).at(type);
      EXPECT_TRUE(split.train == other.train) << name << " of type " << type;
      EXPECT_TRUE(split.validation == other.validation) << name << " of type " << type;
      EXPECT_TRUE(split.test == other.test) << name << " of type " << type;
    }
  }
}

void ExpectEqualGraphs(const graph::SourceGraph& some, const graph::SourceGraph& others) {
  EXPECT_EQ(some.name, others.name);
  ASSERT_EQ(some.schema, others.schema);
  for (size_t type = 0; type < some.nodes.size(); ++type) {
    EXPECT_EQ(some.nodes[type].count, others.nodes[type].count);
    ExpectEqualColumns(some.nodes[type].columns, others.nodes[type].columns);
  }
  for (size_t type = 0; type < some.edges.size(); ++type) {
    const graph::EdgeSet &one = some.edges[type], &other = others.edges[type];
    ExpectEqualColumns(one.columns, other.columns);
    ExpectEqualColumns({{"sources", one.sources}, {"destinations", one.destinations}},
                       {{"sources", other.sources}, {"destinations", other.destinations}});
  }
  ExpectEqualSplits(some, others);
}

// Reads `source` with ReadSourceGraph and MapSourceGraph, and expects the same graph.
void ExpectMapsWhatItReads(const SourceReadOptions& source) {
  const TemporaryFolder scratch;
  const Result<graph::SourceGraph> read = ReadSourceGraph(source);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const Result<graph::SourceGraph> mapped = MapSourceGraph(source, scratch.path() + "/made");
  ASSERT_TRUE(mapped.ok()) << mapped.status().ToString();
  ExpectEqualGraphs(*mapped, *read);
  EXPECT_EQ(graph::ValidateSourceGraph(*mapped, 2), Status());
  // The files were created in this folder, and have no names.
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path() + "/made"));
}

void WriteTypedOgb(const TemporaryFolder& folder) {
  folder.Write("raw/num-node-dict.csv", "author,paper\n2,3\n");
  folder.WriteGzip("raw/triplet-type-list.csv.gz", "author,writes,paper\npaper,cites,paper\n");
  folder.WriteGzip("raw/relations/author___writes___paper/edge.csv.gz", "0,0\n0,1\n1,2\n");
  folder.Write("raw/relations/author___writes___paper/num-edge-list.csv", "3\n");
  folder.Write("raw/relations/paper___cites___paper/edge.csv", "2,0\n");
  folder.Write("raw/relations/paper___cites___paper/num-edge-list.csv", "1\n");
  folder.Write("raw/relations/paper___cites___paper/edge_weight.csv", "7\n");
  folder.WriteGzip("raw/node-feat/paper/node-feat.csv.gz", "0,0.5\n1,1.5\n2,2.5\n");
  folder.Write("raw/node-label/paper/node-label.csv", "0\n1\n0\n");
  folder.Write("split/time/paper/train.csv", "0\n");
  folder.Write("split/time/paper/valid.csv", "1\n");
  folder.Write("split/time/paper/test.csv", "2\n");
}

TEST(MapSourceGraphTest, OgbText) {
  const TemporaryFolder folder;
  testing::WriteOgbTriangle(folder);
  folder.Write("raw/node_year.csv", "1999\n2000\n2001\n2002.5\n");
  folder.Write("raw/edge-feat.csv", "1\n2\n3");
  ExpectMapsWhatItReads({.format = SourceFormat::kOgb, .path = folder.path(), .threads = 2});

  const TemporaryFolder typed;
  WriteTypedOgb(typed);
  ExpectMapsWhatItReads({.format = SourceFormat::kOgb, .path = typed.path(), .threads = 1});
}

TEST(MapSourceGraphTest, OgbArrays) {
  const TemporaryFolder folder;
  folder.Write("raw/data.npz", Zip({{"edge_index.npy", ArrayOf<int64_t>("<i8", "(2, 3)", {0, 1, 2, 1, 2, 0})},
                                    {"num_nodes_list.npy", CountOf(4)},
                                    {"num_edges_list.npy", CountOf(3)},
                                    {"node_feat.npy", ArrayOf<float>("<f4", "(4, 1)", {0, 1, 2, 3})},
                                    {"edge_weight.npy", ArrayOf<float>("<f4", "(3, 1)", {.5F, 1, 2})}}));
  const float none = std::numeric_limits<float>::quiet_NaN();
  folder.Write("raw/node-label.npz", Zip({{"node_label.npy", ArrayOf<float>("<f4", "(4, 1)", {0, 1, none, 2})}}));
  ExpectMapsWhatItReads({.format = SourceFormat::kOgb, .path = folder.path()});
}

TEST(MapSourceGraphTest, MembersOfArchivesInAnNpyFolder) {
  const TemporaryFolder folder;
  folder.Write("graph.npz", Zip({{"ids.npy", ArrayOf<int32_t>("<i4", "(2, 3)", {0, 1, 2, 1, 2, 0})},
                                 {"x.npy", ArrayOf<uint16_t>("<u2", "(3, 2)", {1, 2, 3, 4, 5, 6})},
                                 {"train.npy", ArrayOf<int64_t>("<i8", "(2,)", {2, 0})}}));
  folder.Write("graph.yaml",
               "version: 1\nname: small\nnodes:\n  - type: node\n    columns:\n"
               "      x: {file: graph.npz, member: x, dtype: BF16}\n"
               "edges:\n  - type: node:to:node\n    ids: {file: graph.npz, member: ids}\n"
               "splits:\n  - {name: s, train: {file: graph.npz, member: train}}\n");
  ExpectMapsWhatItReads({.format = SourceFormat::kNpy, .path = folder.path()});
}

TEST(MapSourceGraphTest, Triples) {
  const TemporaryFolder folder;
  folder.Write("train.txt", "rome\tin\titaly\nparis\tin\tfrance\nitaly\tnear\tfrance\n");
  folder.WriteGzip("valid.txt.gz", "rome\tin\teurope\n");
  folder.Write("test.txt", "france\tnear\titaly\nparis\tin\teurope\n");
  for (const NameOrder names : {NameOrder::kSorted, NameOrder::kFirstAppearance}) {
    ExpectMapsWhatItReads({.format = SourceFormat::kTriples, .path = folder.path(), .triples = {.names = names}});
    ExpectMapsWhatItReads(
        {.format = SourceFormat::kTriples, .path = folder.path() + "/train.txt", .triples = {.names = names}});
  }
  // More triples than are written at a time, with alternating relations.
  std::string many;
  for (int i = 0; i < 70'000; ++i) {
    many += std::to_string(i % 999) + "\tr" + std::to_string(i % 7) + "\t" + std::to_string(i % 1001) + "\n";
  }
  ExpectMapsWhatItReads({.format = SourceFormat::kTriples, .path = folder.Write("many/train.txt", many)});
}

TEST(MapSourceGraphTest, ReportsSameErrors) {
  const auto expect_same = [](const SourceReadOptions& source, const std::string& words) {
    const TemporaryFolder scratch;
    const Status read = ReadSourceGraph(source).status(), mapped = MapSourceGraph(source, scratch.path()).status();
    EXPECT_EQ(mapped.ToString(), read.ToString());
    EXPECT_THAT(mapped.message(), HasSubstr(words));
  };
  const TemporaryFolder ogb;
  testing::WriteOgbTriangle(ogb);
  ogb.WriteGzip("raw/edge.csv.gz", "0,1\n1,4\n2,0\n");
  expect_same({.format = SourceFormat::kOgb, .path = ogb.path()}, "edge.csv.gz:2: the destination is 4");
  const std::string whole = testing::Gzip("0,1\n1,2\n2,0\n");
  ogb.Write("raw/edge.csv.gz", whole.substr(0, whole.size() - 10));
  expect_same({.format = SourceFormat::kOgb, .path = ogb.path()}, "truncated");
  const TemporaryFolder triples;
  triples.Write("train.txt", "a\tb\tc\na b c\n");
  expect_same({.format = SourceFormat::kTriples, .path = triples.path()}, "train.txt:2: expected three fields");
  const TemporaryFolder arrays;
  const std::string zip = Zip({{"edge_index.npy", ArrayOf<int64_t>("<i8", "(2, 3)", {0, 1, 2, 1, 2, 0})},
                               {"num_nodes_list.npy", CountOf(4)},
                               {"num_edges_list.npy", CountOf(2)}});
  arrays.Write("raw/data.npz", zip);
  expect_same({.format = SourceFormat::kOgb, .path = arrays.path()}, "has 3 edges: expected 2");
}

TEST(MapSourceGraphTest, ReportsUnwritableFolder) {
  const TemporaryFolder folder;
  testing::WriteOgbTriangle(folder);
  const std::string in_the_way = folder.Write("file", "");
  const Status status =
      MapSourceGraph({.format = SourceFormat::kOgb, .path = folder.path()}, in_the_way + "/scratch").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("making folder " + in_the_way + "/scratch"));
}

}  // namespace
}  // namespace espalier::format
