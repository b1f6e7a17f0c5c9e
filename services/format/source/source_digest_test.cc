#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "services/base/sha256.h"
#include "services/format/source/npy_file.h"
#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"

namespace espalier::format {
namespace {

std::string DigestOf(SourceFormat format, const std::string& path, const TripleOptions& triples = {}) {
  Result<std::string> digest = SourceDigest({.format = format, .path = path, .triples = triples});
  return digest.ok() ? *digest : digest.status().ToString();
}

TEST(SourceDigestTest, DependsOnNamesAndBytesButNotOnLocation) {
  const testing::TemporaryFolder here, there;
  testing::WriteOgbTriangle(here);
  testing::WriteOgbTriangle(there);
  const std::string digest = DigestOf(SourceFormat::kOgb, here.path());
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_EQ(digest, DigestOf(SourceFormat::kOgb, there.path() + "/"));

  there.Write("processed/cache.pt", "what Python left");
  EXPECT_EQ(digest, DigestOf(SourceFormat::kOgb, there.path()));
  there.WriteGzip("raw/node-label.csv.gz", "0\n1\n2\n1\n");
  EXPECT_NE(digest, DigestOf(SourceFormat::kOgb, there.path()));
}

TEST(SourceDigestTest, ChangesIfBytesMoveBetweenFiles) {
  const testing::TemporaryFolder a, b;
  a.Write("test.txt", "12");
  a.Write("train.txt", "3");
  b.Write("test.txt", "1");
  b.Write("train.txt", "23");
  EXPECT_NE(DigestOf(SourceFormat::kTriples, a.path()), DigestOf(SourceFormat::kTriples, b.path()));
}

// Job documents and outputs of runs may be in the same folder as the graph.
TEST(SourceDigestTest, IgnoresUnreadFiles) {
  const testing::TemporaryFolder npy, triples, chunked;
  npy.Write("graph.yaml",
            "version: 1\nnodes: [{type: n, count: 2, columns: {f: ./deep/f.npy}}]\n"
            "edges: [{type: 'n:e:n', ids: e.npy}]\nsplits: [{name: s, train: {file: s.npz, member: train}}]\n");
  for (const char* const file : {"deep/f.npy", "e.npy", "s.npz"}) npy.Write(file, "1");
  triples.Write("train.txt", "a\tb\tc\n");
  chunked.Write("metadata.json",
                R"({"graph_name": "g", "node_type": ["n"], "num_nodes_per_chunk": [[2]], "edge_type": ["n:e:n"],
                    "num_edges_per_chunk": [[1]],
                    "edges": {"n:e:n": {"format": {"name": "csv", "delimiter": " "}, "data": ["e.txt"]}}})");
  chunked.Write("e.txt", "0 1\n");
  for (const auto& [format, folder] : {std::pair(SourceFormat::kNpy, &npy), std::pair(SourceFormat::kTriples, &triples),
                                       std::pair(SourceFormat::kDglChunked, &chunked)}) {
    const std::string digest = DigestOf(format, folder->path());
    EXPECT_EQ(digest.size(), 64u) << digest;
    folder->Write("job.yaml", "epochs: 3");
    folder->Write("out/logs/trainer-0.log", "grows");
    folder->Write("out/embeddings/values.npy", "2");
    EXPECT_EQ(digest, DigestOf(format, folder->path())) << ToString(format);
  }
  for (const char* const file : {"deep/f.npy", "e.npy", "s.npz"}) {
    const std::string before = DigestOf(SourceFormat::kNpy, npy.path());
    npy.Write(file, "2");
    EXPECT_NE(before, DigestOf(SourceFormat::kNpy, npy.path())) << file;
  }
}

TEST(SourceDigestTest, DependsOnOptionsThatChangeGraph) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.Write("all.txt", "a\tb\tc\n");
  const std::string digest = DigestOf(SourceFormat::kTriples, path);
  EXPECT_NE(digest, DigestOf(SourceFormat::kTriples, path, {.columns = TripleColumns::kRelationHeadTail}));
  EXPECT_NE(digest, DigestOf(SourceFormat::kTriples, path, {.names = NameOrder::kFirstAppearance}));
}

// Returns the digest of a format without options and of the bytes of its files only.
std::string DigestOfBytes(SourceFormat format, const std::string& path) {
  std::map<std::string, std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(path)) {
    std::ostringstream bytes;
    bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
    files[file.path().filename()] = bytes.str();
  }
  const auto with_length = [](const std::string& text) { return std::to_string(text.size()) + ":" + text; };
  std::string all = with_length(ToString(format));
  for (const auto& [name, bytes] : files) all += with_length(name) + with_length(std::to_string(bytes.size())) + bytes;
  return Sha256Hex(all);
}

// Earlier versions ignored edge numbers in splits; the keys of their partitionings are made from the bytes only.
TEST(SourceDigestTest, ReportsWhetherSplitsNumberEdges) {
  const testing::TemporaryFolder folder;
  const auto write_split = [&](const Tensor& train) {
    ASSERT_EQ(WriteNpy(folder.path() + "/train.npy", train), Status());
  };
  ASSERT_EQ(WriteNpy(folder.path() + "/e.npy", Tensor::FromVector<int64_t>({0, 0, 1, 1}, {2, 2})), Status());
  const std::string graph = "version: 1\nnodes: [{type: n, count: 2}]\nedges: [{type: 'n:e:n', ids: e.npy}]\nsplits:\n";
  folder.Write("graph.yaml", graph + "- {name: s, edge_type: 'n:e:n', train: train.npy}\n");
  const auto says_more_than_bytes = [&] {
    return DigestOf(SourceFormat::kNpy, folder.path()) != DigestOfBytes(SourceFormat::kNpy, folder.path());
  };
  write_split(Tensor::FromVector<int64_t>({0, 1}, {2, 1}));
  EXPECT_FALSE(says_more_than_bytes());
  write_split(Tensor::FromVector<int64_t>({0, 1, 1}, {3, 1}));
  EXPECT_TRUE(says_more_than_bytes());
  write_split(Tensor::FromVector<int64_t>({1}));
  EXPECT_TRUE(says_more_than_bytes());
  write_split(Tensor::Zeros(DType::kBool, {2}));
  EXPECT_TRUE(says_more_than_bytes());
  folder.Write("graph.yaml", graph + "- {name: s, train: train.npy}\n");  // a split of nodes
  EXPECT_FALSE(says_more_than_bytes());
}

TEST(SourceDigestTest, ReportsWhetherEdgeMasksNumberEdges) {
  const testing::TemporaryFolder folder;
  const auto write = [&](const std::string& column) {
    folder.Write("metadata.json",
                 R"({"graph_name": "g", "node_type": ["n"], "num_nodes_per_chunk": [[2]], "edge_type": ["n:e:n"],
                     "num_edges_per_chunk": [[1]],
                     "edges": {"n:e:n": {"format": {"name": "csv", "delimiter": " "}, "data": ["e.txt"]}},
                     "edge_data": {"n:e:n": {")" +
                     column + R"(": {"format": {"name": "numpy"}, "data": ["c.npy"]}}}})");
  };
  write("weight");
  EXPECT_EQ(DigestOf(SourceFormat::kDglChunked, folder.path()),
            DigestOfBytes(SourceFormat::kDglChunked, folder.path()));
  write("val_mask");
  EXPECT_NE(DigestOf(SourceFormat::kDglChunked, folder.path()),
            DigestOfBytes(SourceFormat::kDglChunked, folder.path()));
}

TEST(SourceDigestTest, ReportsMissingSource) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(SourceDigest({.path = folder.path()}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(SourceDigest({.path = folder.path() + "/gone"}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace espalier::format
