#include "services/format/partition/partition_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stop_token>

#include "services/format/files/checksum.h"
#include "services/format/testing/mutation.h"
#include "services/format/testing/tiny_graph.h"
#include "services/storage/file_store.h"
#include "services/storage/memory_store.h"
#include "services/storage/object_key.h"
#include "services/storage/testing/faulty_store.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::format {
namespace {

using ::testing::HasSubstr;

const LoadOptions kAll = {.node_columns = true, .edge_columns = true, .original_edge_ids = true, .data_dir = {}};

void ExpectSame(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.ToString(), b.ToString()) << what;
  EXPECT_TRUE(a.empty() || std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0) << what;
}

void ExpectSame(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) ExpectSame(tensor, b.at(name), name);
}

void ExpectSame(const graph::Partition& a, const graph::Partition& b) {
  EXPECT_EQ(a.id, b.id);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  ASSERT_EQ(a.in_edges.size(), b.in_edges.size());
  for (size_t type = 0; type < a.nodes.size(); ++type) {
    EXPECT_EQ(a.nodes[type].count, b.nodes[type].count);
    ExpectSame(a.nodes[type].original_ids, b.nodes[type].original_ids, "original ids");
    ExpectSame(a.nodes[type].columns, b.nodes[type].columns);
    EXPECT_EQ(a.directory[type].first, b.directory[type].first);
    ExpectSame(a.directory[type].global_ids, b.directory[type].global_ids, "directory");
  }
  for (size_t type = 0; type < a.in_edges.size(); ++type) {
    ExpectSame(a.in_edges[type].indptr, b.in_edges[type].indptr, "indptr");
    ExpectSame(a.in_edges[type].indices, b.in_edges[type].indices, "indices");
    ExpectSame(a.original_edge_ids[type], b.original_edge_ids[type], "original edge ids");
    ExpectSame(a.edge_columns[type], b.edge_columns[type]);
  }
  ASSERT_EQ(a.splits.size(), b.splits.size());
  for (const auto& [name, types] : a.splits) {
    for (const auto& [type, parts] : types) {
      for (size_t part = 0; part < parts.size(); ++part) {
        const graph::SplitPart& other = b.splits.at(name).at(type)[part];
        EXPECT_EQ(parts[part].total, other.total);
        ExpectSame(parts[part].local_ids, other.local_ids, "local ids");
        ExpectSame(parts[part].ordinals, other.ordinals, "ordinals");
      }
    }
  }
}

TEST(PartitionFilesTest, RoundTrips) {
  const storage::TemporaryFolder folder, data_dir;
  storage::FileStore files(folder.path());
  storage::MemoryStore memory;
  const partition::PartitionSet set = TinyPartitions(TinyGraph());
  LoadOptions options = kAll;
  options.data_dir = data_dir.path();
  for (storage::ObjectStore* store :
       {static_cast<storage::ObjectStore*>(&files), static_cast<storage::ObjectStore*>(&memory)}) {
    for (const std::string prefix : {"", "graphs/tiny"}) {
      WriteTinyPartitioning(*store, prefix);
      const Result<Manifest> manifest = ReadManifest(*store, prefix);
      ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
      for (options.threads = 1; options.threads <= 3; ++options.threads) {
        for (uint32_t p = 0; p < 2; ++p) {
          const auto partition = LoadPartition(*store, prefix, *manifest, PartitionId(p), options);
          ASSERT_TRUE(partition.ok()) << partition.status().ToString();
          ExpectSame(*partition, set.partitions[p]);
        }
      }
    }
  }
}

TEST(PartitionFilesTest, LoadsOnlyRequestedParts) {
  const storage::TemporaryFolder folder;
  storage::FileStore store(folder.path());
  const Manifest manifest = WriteTinyPartitioning(store, "");
  const auto partition = LoadPartition(store, "", manifest, PartitionId(0), {.node_columns = false, .data_dir = {}});
  ASSERT_TRUE(partition.ok()) << partition.status().ToString();
  EXPECT_TRUE(partition->nodes[1].columns.empty());
  ASSERT_EQ(partition->edge_columns.size(), 2u);
  EXPECT_TRUE(partition->edge_columns[1].empty());
  EXPECT_TRUE(partition->original_edge_ids[1].empty());
  EXPECT_EQ(LoadPartition(store, "", manifest, PartitionId(2), kAll).status().code(), StatusCode::kInvalidArgument);
}

// The function keeps references to the store and the manifest, so the caller may release its own before the call.
TEST(PartitionFilesTest, OriginalEdgeIdsLoadLater) {
  const storage::TemporaryFolder data_dir;
  std::function<Result<std::vector<Tensor>>(const std::stop_token&)> later;
  std::vector<Tensor> expected;
  {
    const auto store = std::make_shared<storage::MemoryStore>();
    const auto manifest = std::make_shared<const Manifest>(WriteTinyPartitioning(*store, "graphs/tiny"));
    LoadOptions options = kAll;
    options.data_dir = data_dir.path();
    CopiedBytes copied;
    options.copied = &copied;
    const auto whole = LoadPartition(*store, "graphs/tiny", *manifest, PartitionId(1), options);
    ASSERT_TRUE(whole.ok()) << whole.status().ToString();
    expected = whole->original_edge_ids;
    options.original_edge_ids = false;
    later = MakeOriginalEdgeIdsLoader({store, "graphs/tiny"}, manifest, PartitionId(1), options);
  }
  const auto ids = later(std::stop_token());
  ASSERT_TRUE(ids.ok()) << ids.status().ToString();
  ASSERT_EQ(ids->size(), expected.size());
  for (size_t type = 0; type < expected.size(); ++type) ExpectSame((*ids)[type], expected[type], "original edge ids");
}

TEST(PartitionFilesTest, NamesMissingManifest) {
  storage::MemoryStore store;
  const Status status = ReadManifest(store, "graphs/none").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("graphs/none/manifest.json"));
}

TEST(PartitionFilesTest, NamesBrokenManifest) {
  storage::MemoryStore store;
  ASSERT_TRUE(storage::PutText(store, "p/manifest.json", "{}").ok());
  EXPECT_THAT(ReadManifest(store, "p").status().message(), HasSubstr("p/manifest.json: format: missing"));
}

TEST(PartitionFilesTest, KeepsFirstManifest) {
  storage::MemoryStore store;
  Manifest manifest = WriteTinyPartitioning(store, "p");
  manifest.attempt = "attempt-2";
  EXPECT_EQ(CommitManifest(store, "p", manifest).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadManifest(store, "p")->attempt, "attempt-1");
}

TEST(PartitionFilesTest, NeedsAFolderForFilesThatAreNotLocal) {
  storage::MemoryStore store;
  const Manifest manifest = WriteTinyPartitioning(store, "");
  const Status status = LoadPartition(store, "", manifest, PartitionId(0), kAll).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("data directory"));
}

TEST(PartitionFilesTest, CopiesDamagedFilesAgain) {
  const storage::TemporaryFolder data_dir;
  storage::MemoryStore store;
  const Manifest manifest = WriteTinyPartitioning(store, "");
  LoadOptions options = kAll;
  options.data_dir = data_dir.path();
  ASSERT_TRUE(LoadPartition(store, "", manifest, PartitionId(0), options).ok());
  storage::FileStore copies(*FolderOfCopies(data_dir.path(), manifest));
  const std::string copy = manifest.partitions[0].graph.key;
  ASSERT_TRUE(storage::PutText(copies, copy, "damaged").ok());

  EXPECT_TRUE(LoadPartition(store, "", manifest, PartitionId(0), options).ok());
  EXPECT_EQ(*copies.Get(copy), *store.Get(manifest.partitions[0].graph.key));
}

// Each write of a partitioning fails once: the error is returned, and there is no manifest.
TEST(PartitionFilesTest, CommitsNothingWhenTheDiskIsFull) {
  const graph::SourceGraph graph = TinyGraph();
  const partition::PartitionSet set = TinyPartitions(graph);
  const auto write = [&](storage::ObjectStore& store) {
    return WritePartitioning(store, "p", set, TinyManifest(graph, set)).status();
  };
  storage::MemoryStore memory;
  storage::FaultyStore counting(memory);
  ASSERT_TRUE(write(counting).ok());
  ASSERT_GT(counting.num_writes(), 20);
  for (int64_t n = 0; n < counting.num_writes(); ++n) {
    storage::MemoryStore inner;
    storage::FaultyStore store(inner, n);
    EXPECT_EQ(write(store).code(), StatusCode::kResourceExhausted) << n;
    EXPECT_EQ(ReadManifest(inner, "p").status().code(), StatusCode::kNotFound) << n;
  }
}

class DamagedFileTest : public ::testing::Test {
 protected:
  void SetUp() override { manifest_ = WriteTinyPartitioning(store_, "p"); }

  std::vector<FileEntry*> Files() {
    PartitionEntry& entry = manifest_.partitions[1];
    return {&entry.graph, &entry.node_columns, &entry.edge_columns, &entry.original_edge_ids};
  }
  // Bypasses the store, which syncs every file: these tests write thousands of files.
  void Put(const FileEntry& file, const std::string& bytes) {
    const std::string path = folder_.path() + "/p/" + file.key;
    std::filesystem::remove(path);  // a mapped file must not be truncated
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::string Get(const FileEntry& file) { return *store_.Get("p/" + file.key); }
  Result<graph::Partition> Load(const LoadOptions& options = kAll) {
    return LoadPartition(store_, "p", manifest_, PartitionId(1), options);
  }

  const storage::TemporaryFolder folder_;
  storage::FileStore store_{folder_.path()};
  Manifest manifest_;
};

TEST_F(DamagedFileTest, FindsEveryFlippedBit) {
  for (const FileEntry* file : Files()) {
    const std::string good = Get(*file);
    for (size_t at = 0; at < good.size(); at += 7) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
      Put(*file, bad);
      const Status status = Load().status();
      ASSERT_EQ(status.code(), StatusCode::kDataLoss) << file->key << " byte " << at;
      ASSERT_THAT(status.message(), HasSubstr(file->key + ": block 0 "));
    }
    Put(*file, good);
  }
  EXPECT_TRUE(Load().ok());
}

TEST_F(DamagedFileTest, NamesTheFileThatIsCutShortOrMissing) {
  for (const FileEntry* file : Files()) {
    const std::string good = Get(*file);
    for (const size_t size_bytes : {size_t{0}, size_t{7}, good.size() - 1}) {
      Put(*file, good.substr(0, size_bytes));
      const Status status = Load().status();
      EXPECT_EQ(status.code(), StatusCode::kDataLoss);
      EXPECT_THAT(status.message(), HasSubstr(file->key + " has " + std::to_string(size_bytes)));
      EXPECT_THAT(status.message(), HasSubstr("truncated"));
    }
    ASSERT_TRUE(store_.Delete("p/" + file->key).ok());
    const Status missing = Load().status();
    EXPECT_EQ(missing.code(), StatusCode::kNotFound) << missing.ToString();
    EXPECT_THAT(missing.message(), HasSubstr(file->key));
    Put(*file, good);
  }
}

TEST_F(DamagedFileTest, RefusesFileOfOtherPartition) {
  for (PartitionEntry& entry : manifest_.partitions) entry = manifest_.partitions[0];
  const Status status = Load().status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("metadata 'espalier.partition': expected '1', found '0'"));
}

// For arbitrary bytes, loading returns either a valid partition or an error.
TEST_F(DamagedFileTest, RefusesGarbage) {
  LoadOptions options = kAll;
  options.checksums = Checksums::kSkip;
  std::mt19937_64 random(99);
  for (FileEntry* file : Files()) {
    const std::string good = Get(*file);
    for (int i = 0; i < 400; ++i) {
      const std::string bad = Mutated(good, random);
      Put(*file, bad);
      file->size_bytes = bad.size();
      const Result<graph::Partition> partition = Load(options);
      if (!partition.ok()) {
        ASSERT_EQ(partition.status().code(), StatusCode::kDataLoss) << partition.status().ToString();
        continue;
      }
      for (uint16_t type = 0; type < 2; ++type) {
        const Tensor& indices = partition->in_edges[type].indices;
        const uint64_t limit = manifest_.book.num_nodes(manifest_.book.schema().SourceOf(EdgeTypeId(type)));
        for (const uint32_t source : indices.values<uint32_t>()) ASSERT_LT(source, limit);
      }
    }
    Put(*file, good);
    file->size_bytes = good.size();
  }
}

// A partition with invalid arrays but correct checksums, as a faulty or malicious writer would produce it.
struct BrokenPromise {
  std::string what;  // part of the message
  void (*breaks)(graph::Partition* partition);
};
void PrintTo(const BrokenPromise& promise, std::ostream* out) { *out << promise.what; }
class BrokenPromiseTest : public ::testing::TestWithParam<BrokenPromise> {};

TEST_P(BrokenPromiseTest, IsReportedWithPosition) {
  const graph::SourceGraph graph = TinyGraph();
  partition::PartitionSet set = TinyPartitions(graph);
  GetParam().breaks(&set.partitions[0]);
  const storage::TemporaryFolder folder;
  storage::FileStore store(folder.path());
  const auto manifest = WritePartitioning(store, "", set, TinyManifest(graph, TinyPartitions(graph)));
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();

  for (const int threads : {1, 3}) {
    LoadOptions options = kAll;
    options.threads = threads;
    const Status status = LoadPartition(store, "", *manifest, PartitionId(0), options).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(GetParam().what));
    EXPECT_THAT(status.message(), HasSubstr("part-00000/"));
  }
}

using P = graph::Partition;
Tensor U32(std::vector<uint32_t> values) { return Tensor::FromVector(std::move(values)); }
Tensor U64(std::vector<uint64_t> values) { return Tensor::FromVector(std::move(values)); }

// Partition 0 owns authors 0, 2 and papers 0, 2, 4, and 2 edges each of author:writes:paper and paper:cites:paper.
INSTANTIATE_TEST_SUITE_P(
    Promises, BrokenPromiseTest,
    ::testing::Values(
        BrokenPromise{"indptr[0] is 1, expected 0",
                      [](P* p) {
                        p->in_edges[1].indptr = U32({1, 1, 1, 2});
                      }},
        BrokenPromise{"indptr[2] is 0 after 2",
                      [](P* p) {
                        p->in_edges[1].indptr = U32({0, 2, 0, 2});
                      }},
        BrokenPromise{"indptr[3] is 3, expected the number of edges, 2",
                      [](P* p) {
                        p->in_edges[1].indptr = U32({0, 1, 1, 3});
                      }},
        BrokenPromise{"indptr: expected [4]",
                      [](P* p) {
                        p->in_edges[1].indptr = U32({0, 1, 2});
                      }},
        BrokenPromise{"indptr: expected U32, found U64",
                      [](P* p) {
                        p->in_edges[1].indptr = U64({0, 1, 1, 2});
                      }},
        BrokenPromise{"in_edges/paper:cites:paper/indices[1] is 5, expected less than 5",
                      [](P* p) {
                        p->in_edges[1].indices = U32({0, 5});
                      }},
        BrokenPromise{"in_edges/author:writes:paper/indices[0] is 3, expected less than 3",
                      [](P* p) {
                        p->in_edges[0].indices = U32({3, 0});
                      }},
        BrokenPromise{"indices: expected [2]", [](P* p) { p->in_edges[1].indices = U32({0}); }},
        BrokenPromise{"indices: expected U32, found U64",
                      [](P* p) {
                        p->in_edges[1].indices = U64({0, 1});
                      }},
        BrokenPromise{"indices: expected U32 or U64",
                      [](P* p) {
                        p->in_edges[1].indices = Tensor::FromVector<float>({0, 1});
                      }},
        BrokenPromise{"original_ids/paper[2] is 2 after 2",
                      [](P* p) {
                        p->nodes[1].original_ids = U32({0, 2, 2});
                      }},
        BrokenPromise{"original_ids/paper[2] is 5, expected less than 5",
                      [](P* p) {
                        p->nodes[1].original_ids = U32({0, 2, 5});
                      }},
        BrokenPromise{"original_ids/paper: expected [3]",
                      [](P* p) {
                        p->nodes[1].original_ids = U32({0, 2});
                      }},
        BrokenPromise{"directory/paper[0] is 9",
                      [](P* p) {
                        p->directory[1].global_ids = U32({9, 0});
                      }},
        BrokenPromise{"directory/paper: expected [2]", [](P* p) { p->directory[1].global_ids = U32({0}); }},
        BrokenPromise{"split/public/paper/train/local_ids[0] is 3, expected less than 3",
                      [](P* p) { p->splits["public"][1][0].local_ids = U32({3}); }},
        BrokenPromise{"train/local_ids[1] is 0 after 0",
                      [](P* p) {
                        p->splits["public"][1][0].local_ids = U32({0, 0});
                        p->splits["public"][1][0].ordinals = U64({0, 1});
                      }},
        BrokenPromise{"train/ordinals[0] is 3, expected less than 3",
                      [](P* p) { p->splits["public"][1][0].ordinals = U64({3}); }},
        BrokenPromise{"train/ordinals: expected [1]",
                      [](P* p) {
                        p->splits["public"][1][0].ordinals = U64({0, 1});
                      }},
        BrokenPromise{"validation/local_ids: expected U32",
                      [](P* p) { p->splits["public"][1][1].local_ids = U64({2}); }},
        BrokenPromise{"no tensor 'columns/paper/label'", [](P* p) { p->nodes[1].columns.erase("label"); }},
        BrokenPromise{"unexpected tensor 'columns/paper/more'",
                      [](P* p) {
                        p->nodes[1].columns["more"] = U32({1, 2, 3});
                      }},
        BrokenPromise{"columns/paper/label: expected I64",
                      [](P* p) {
                        p->nodes[1].columns["label"] = U32({1, 2, 3});
                      }},
        BrokenPromise{"columns/paper/feat: expected F32 with 3 rows",
                      [](P* p) {
                        p->nodes[1].columns["feat"] = Tensor::Zeros(DType::kF32, {2, 2});
                      }},
        BrokenPromise{"columns/paper/feat: expected F32 with 3 rows of the manifest's row_shape",
                      [](P* p) {
                        p->nodes[1].columns["feat"] = Tensor::Zeros(DType::kF32, {3, 3});
                      }},
        BrokenPromise{"columns/paper/is_new[1] is 2, expected 0 or 1",
                      [](P* p) {
                        Tensor bools = Tensor::Zeros(DType::kBool, {3});
                        bools.mutable_bytes()[1] = std::byte{2};
                        p->nodes[1].columns["is_new"] = bools;
                      }},
        BrokenPromise{"columns/paper:cites:paper/weight",
                      [](P* p) { p->edge_columns[1]["weight"] = Tensor::Zeros(DType::kF32, {3}); }},
        BrokenPromise{"original_edge_ids/paper:cites:paper: expected [2]",
                      [](P* p) { p->original_edge_ids[1] = U32({1}); }}));

TEST(PartitionFilesTest, RefusesToWriteAPartitionWithMissingPieces) {
  storage::MemoryStore store;
  const partition::PartitionSet set = TinyPartitions(TinyGraph());
  const auto write = [&](graph::Partition partition) {
    return WritePartition(store, "", "a", set.book, partition).status().code();
  };
  graph::Partition no_directory = set.partitions[0], no_ids = set.partitions[0], short_split = set.partitions[0];
  graph::Partition other_number = set.partitions[0];
  no_directory.directory.pop_back();
  no_ids.original_edge_ids.clear();
  short_split.splits["public"][1].pop_back();
  other_number.id = PartitionId(2);
  for (const graph::Partition& bad : {no_directory, no_ids, short_split, other_number}) {
    EXPECT_EQ(write(bad), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace espalier::format
