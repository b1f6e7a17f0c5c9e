// Every format supports edge types without edges: with empty files, with arrays of any dtype, or without files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/source/npy_folder.h"
#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"
#include "services/format/source/testing/zip_files.h"

namespace espalier::format {
namespace {

using testing::BytesOf;
using ::testing::HasSubstr;
using testing::Npy;
using testing::TemporaryFolder;

// Returns the file of numpy.empty(shape).
std::string EmptyArray(const std::string& shape) {
  return Npy("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }", "");
}
std::string Integers(const std::string& shape, const std::vector<int64_t>& values) {
  return Npy("{'descr': '<i8', 'fortran_order': False, 'shape': " + shape + ", }", BytesOf(values));
}

// Returns the number of edges of each type, "a:full:a has 1, a:none:a has 0", or the error.
std::string EdgeCounts(const TemporaryFolder& folder, SourceFormat format) {
  const Result<graph::SourceGraph> graph = ReadSourceGraph({.format = format, .path = folder.path()});
  if (!graph.ok()) return graph.status().ToString();
  std::string text;
  for (size_t t = 0; t < graph->edges.size(); ++t) {
    text += (t == 0 ? "" : ", ") + graph->schema.edge_types()[t].Name() + " has " +
            std::to_string(graph->edges[t].num_edges());
  }
  // The imported graph can be read again.
  const TemporaryFolder copy;
  const Status written = WriteNpyFolder(*graph, copy.path() + "/copy", {}, nullptr);
  if (!written.ok()) return written.ToString();
  const Result<graph::SourceGraph> again =
      ReadSourceGraph({.format = SourceFormat::kNpy, .path = copy.path() + "/copy"});
  return again.ok() ? text : again.status().ToString();
}

constexpr const char* kBoth = "a:full:a has 1, a:none:a has 0";

std::string EmptyInChunks(const std::string& empty_entry, const std::string& columns) {
  const TemporaryFolder folder;
  folder.Write("metadata.json",
               R"({"node_type": ["a"], "num_nodes_per_chunk": [[3]], "edge_type": ["a:full:a", "a:none:a"],
    "num_edges_per_chunk": [[1], [0]], "edges": {)" +
                   empty_entry + R"("a:full:a": {"format": {"name": "csv"}, "data": ["full.csv"]}}, "edge_data": {)" +
                   columns + "}}");
  folder.Write("full.csv", "0,1\n");
  folder.Write("empty.csv", "");
  folder.Write("empty.npy", EmptyArray("(0,)"));
  folder.Write("empty-pairs.npy", Integers("(0, 2)", {}));
  return EdgeCounts(folder, SourceFormat::kDglChunked);
}

TEST(EmptyRelationsTest, OfDglChunked) {
  for (const char* format : {"csv", "numpy"}) {
    EXPECT_EQ(EmptyInChunks(R"("a:none:a": {"format": {"name": ")" + std::string(format) + R"("}, "data": []},)", ""),
              kBoth);
  }
  EXPECT_EQ(EmptyInChunks("", ""), kBoth);
  for (const char* file : {"empty.npy", "empty-pairs.npy"}) {
    EXPECT_EQ(
        EmptyInChunks(R"("a:none:a": {"format": {"name": "numpy"}, "data": [")" + std::string(file) + R"("]},)", ""),
        kBoth);
  }
  EXPECT_EQ(EmptyInChunks(R"("a:none:a": {"format": {"name": "csv"}, "data": ["empty.csv"]},)", ""), kBoth);
  EXPECT_EQ(EmptyInChunks(R"("a:none:a": {"format": {"name": "csv"}, "data": []},)",
                          R"("a:none:a": {"w": {"format": {"name": "numpy"}, "data": []}})"),
            kBoth);
}

TEST(EmptyRelationsTest, OfDglChunkedNeedNoFiles) {
  EXPECT_THAT(EmptyInChunks("", R"("a:full:a": {"w": {"format": {"name": "numpy"}, "data": []}})"),
              HasSubstr("'data' lists no files: expected 1 rows"));
  EXPECT_THAT(EmptyInChunks(R"("a:none:a": {"format": {"name": "csv"}, "data": ["full.csv"]},)", ""),
              HasSubstr("expected 0"));
}

std::string EmptyInFolder(const std::string& fields) {
  const TemporaryFolder folder;
  folder.Write("graph.yaml",
               "version: 1\nname: g\nnodes:\n- {type: a, count: 3}\nedges:\n- {type: a:full:a, ids: f.npy}\n"
               "- {type: a:none:a" +
                   fields + "}\nsplits:\n- {name: s, train: t.npy, test: empty.npy}\n");
  folder.Write("f.npy", Integers("(2, 1)", {0, 1}));
  folder.Write("t.npy", Integers("(2,)", {0, 1}));
  folder.Write("empty.npy", EmptyArray("(0,)"));
  folder.Write("empty-pairs.npy", EmptyArray("(2, 0)"));
  return EdgeCounts(folder, SourceFormat::kNpy);
}

TEST(EmptyRelationsTest, OfNpy) {
  for (const char* fields : {", count: 0", ", ids: empty-pairs.npy", ", ids: empty.npy, count: 0",
                             ", sources: empty.npy, destinations: empty.npy"}) {
    EXPECT_EQ(EmptyInFolder(fields), kBoth) << fields;
  }
}

TEST(EmptyRelationsTest, OfNpyNeedFiles) {
  EXPECT_THAT(EmptyInFolder(""), HasSubstr("expected either 'ids', or both 'sources' and 'destinations' ('count: 0'"));
  EXPECT_THAT(EmptyInFolder(", count: 1"), HasSubstr("expected either 'ids'"));
  EXPECT_THAT(EmptyInFolder(", ids: f.npy, count: 0"), HasSubstr("has 1 edges: 'count' says 0"));
  EXPECT_THAT(EmptyInFolder(", sources: empty.npy"), HasSubstr("expected either 'ids'"));
}

TEST(EmptyRelationsTest, OfOgb) {
  const TemporaryFolder text;
  text.Write("raw/num-node-dict.csv", "a\n3\n");
  text.Write("raw/triplet-type-list.csv", "a,full,a\na,none,a\n");
  text.Write("raw/relations/a___full___a/num-edge-list.csv", "1\n");
  text.Write("raw/relations/a___full___a/edge.csv", "0,1\n");
  text.Write("raw/relations/a___none___a/num-edge-list.csv", "0\n");
  EXPECT_EQ(EdgeCounts(text, SourceFormat::kOgb), kBoth);
  text.Write("raw/relations/a___none___a/edge.csv", "");
  EXPECT_EQ(EdgeCounts(text, SourceFormat::kOgb), kBoth);
  text.Write("raw/relations/a___none___a/edge.csv", "\n");
  EXPECT_EQ(EdgeCounts(text, SourceFormat::kOgb), kBoth);

  const TemporaryFolder binary;
  const auto write = [&](const std::vector<std::pair<std::string, std::string>>& index) {
    binary.Write("raw/num_nodes_dict.npz", testing::Zip({{"a.npy", Integers("(1,)", {3})}}));
    binary.Write("raw/num_edges_dict.npz", testing::Zip({{"a___full___a.npy", Integers("(1,)", {1})},
                                                         {"a___none___a.npy", Integers("(1,)", {0})}}));
    binary.Write("raw/edge_index_dict.npz", testing::Zip(index));
    return EdgeCounts(binary, SourceFormat::kOgb);
  };
  const std::pair<std::string, std::string> full = {"a___full___a.npy", Integers("(2, 1)", {0, 1})};
  EXPECT_EQ(write({full}), kBoth);
  EXPECT_EQ(write({full, {"a___none___a.npy", EmptyArray("(2, 0)")}}), kBoth);
}

}  // namespace
}  // namespace espalier::format
