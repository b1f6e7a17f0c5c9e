#include "services/format/source/located_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/base/failpoint.h"
#include "services/base/sha256.h"
#include "services/format/source/testing/source_files.h"
#include "services/storage/memory_store.h"
#include "services/storage/object_key.h"
#include "services/storage/testing/hooked_store.h"
#include "services/storage/testing/put_text.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kUri[] = "mem://bucket/graphs/triangle";

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "mem://bucket/<key>" is an object of store_, which is read through a hook; copies are made in cache_.
class LocatedSourceTest : public ::testing::Test {
 protected:
  using Conditions = storage::HookedStore::Conditions;
  explicit LocatedSourceTest(Conditions conditions = Conditions::kHonored)
      : hooked_(std::make_shared<storage::HookedStore>(
            store_,
            [this](const std::string& key, storage::ByteRange, std::span<std::byte> bytes) {
              ++reads_;
              return tamper_ ? tamper_(key, bytes) : Status();
            },
            conditions)) {
    access_.cache.folder = cache_.path() + "/cache";
    access_.settling_time = std::chrono::seconds(0);
    access_.open_store = [this](const std::string& uri) -> Result<storage::StoreLocation> {
      const std::string bucket = "mem://bucket/";
      return storage::StoreLocation{hooked_, uri.size() < bucket.size() ? "" : uri.substr(bucket.size())};
    };
    testing::WriteOgbTriangle(local_);
    for (const auto& file : fs::recursive_directory_iterator(local_.path())) {
      if (!file.is_regular_file()) continue;
      Put("graphs/triangle/" + fs::relative(file.path(), local_.path()).string(), Contents(file.path()));
    }
    Put("graphs/triangle-2/raw/edge.csv", "another graph");
    Put("graphs/triangle/processed/cache.pt", "what Python left");
  }
  ~LocatedSourceTest() override { EXPECT_TRUE(ArmFailpoints("").ok()); }

  void Put(const std::string& key, const std::string& text) { ASSERT_TRUE(storage::PutText(store_, key, text).ok()); }

  Result<LocatedSource> Find(const std::string& uri = kUri, SourceFormat format = SourceFormat::kOgb) {
    return FindGraphSource(uri, format, access_);
  }
  Result<std::string> Digest(const std::string& uri = kUri) {
    ASSIGN_OR_RETURN(LocatedSource source, Find(uri));
    return GraphSourceDigest(source, {.format = SourceFormat::kOgb});
  }
  Result<std::string> Path(const std::string& uri = kUri, SourceFormat format = SourceFormat::kOgb) {
    ASSIGN_OR_RETURN(LocatedSource source, Find(uri, format));
    return source.Path();
  }

  const testing::TemporaryFolder local_, cache_;
  storage::MemoryStore store_;
  std::function<Status(const std::string& key, std::span<std::byte> bytes)> tamper_;
  std::atomic<int> reads_{0};
  const std::shared_ptr<storage::HookedStore> hooked_;
  SourceAccess access_;
};

TEST_F(LocatedSourceTest, StagesFilesOfGraph) {
  const auto path = Path();
  ASSERT_TRUE(path.ok()) << path.status().ToString();
  const auto graph = ReadSourceGraph({.format = SourceFormat::kOgb, .path = *path});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->name, "triangle");
  EXPECT_EQ(graph->nodes[0].count, 4u);
  EXPECT_FALSE(fs::exists(fs::path(*path) / "processed"));
  EXPECT_EQ(reads_, 8);

  EXPECT_EQ(*Path(), *path);
  EXPECT_EQ(reads_, 8);  // no file is downloaded twice
}

TEST_F(LocatedSourceTest, NamesExpectedFilesIfSourceIsEmpty) {
  const auto message = [&](const std::string& uri, SourceFormat format) {
    const Status none = Find(uri, format).status();
    EXPECT_EQ(none.code(), StatusCode::kNotFound) << uri;
    return none.message();
  };
  EXPECT_EQ(
      message("ogbn-no-such-set", SourceFormat::kOgb),
      "there is no file or folder ogbn-no-such-set: format OGB expects the folder of a data set of OGB, with raw/ "
      "in it; data sets are not downloaded by name");
  EXPECT_THAT(message(cache_.path(), SourceFormat::kNpy),
              HasSubstr("contains no files of a graph: format NPY expects a folder with graph.yaml"));
}

// Tests a folder in a store, then local folders.
TEST_F(LocatedSourceTest, NamesActualFormatOfFolder) {
  EXPECT_THAT(
      Find(kUri, SourceFormat::kNpy).status().message(),
      HasSubstr("format NPY expects a folder with graph.yaml; found raw/edge.csv.gz: read it with the format OGB"));
  const testing::TemporaryFolder folder;
  const auto message = [&](const std::string& file, SourceFormat format) {
    const testing::TemporaryFolder other;
    other.Write(file, "x");
    return Find(other.path(), format).status().message();
  };
  EXPECT_THAT(message("graph.yaml", SourceFormat::kOgb), HasSubstr("found graph.yaml: read it with the format NPY"));
  EXPECT_THAT(message("metadata.json", SourceFormat::kTriples), HasSubstr("read it with the format DGLChunked"));
  EXPECT_THAT(message("train.txt", SourceFormat::kNpy), HasSubstr("read it with the format Triples"));
  for (const SourceFormat format :
       {SourceFormat::kOgb, SourceFormat::kNpy, SourceFormat::kTriples, SourceFormat::kDglChunked}) {
    EXPECT_THAT(message("metadata.yaml", format),
                HasSubstr("this is an OnDiskDataset of DGL's GraphBolt, which is not supported: list its .npy files"));
  }
}

// The fingerprint is the key of cached digests and staged copies.
TEST_F(LocatedSourceTest, FingerprintIgnoresSpellingOfScheme) {
  access_.open_store = [this](const std::string& uri) -> Result<storage::StoreLocation> {
    const std::string bucket = "s3://bucket/";
    if (!uri.starts_with(bucket)) return InvalidArgument(uri);
    return storage::StoreLocation{hooked_, uri.substr(bucket.size())};
  };
  const auto fingerprint = [&](const std::string& uri) {
    const Result<SourceFiles> files = FindSource(uri, access_, nullptr);
    return files.ok() ? files->Fingerprint() : files.status().ToString();
  };
  const std::string expected = fingerprint("s3://bucket/graphs/triangle");
  EXPECT_EQ(expected.size(), 64u) << expected;
  for (const char* scheme : {"S3", "s3a", "S3A"}) {
    EXPECT_EQ(fingerprint(scheme + std::string("://bucket/graphs/triangle/")), expected) << scheme;
  }
}

TEST_F(LocatedSourceTest, DigestDoesNotDependOnLocation) {
  const auto remote = Digest();
  ASSERT_TRUE(remote.ok()) << remote.status().ToString();
  EXPECT_EQ(*remote, *SourceDigest({.format = SourceFormat::kOgb, .path = local_.path()}));
  EXPECT_EQ(*remote, *Digest("file://" + local_.path()));
}

TEST_F(LocatedSourceTest, ReadsAnUnchangedSourceOnce) {
  const std::string digest = *Digest();
  fs::remove_all(access_.cache.folder + "/sources");
  const int reads = reads_;
  EXPECT_EQ(*Digest(), digest);
  EXPECT_EQ(reads_, reads);

  Put("graphs/triangle/raw/node-label.csv.gz", testing::Gzip("0\n1\n2\n1\n"));
  EXPECT_NE(*Digest(), digest);
  EXPECT_GT(reads_, reads);
}

TEST_F(LocatedSourceTest, ReadsAnUnchangedLocalSourceOnce) {
  const auto digest = [&] {
    auto source = Find(local_.path());
    int computed = 0;
    EXPECT_TRUE(source.ok()) << source.status().ToString();
    const auto answer = source->Digest("what", [&](const std::string& path) -> Result<std::string> {
      ++computed;
      return Sha256Hex(Contents(path + "/raw/edge.csv.gz"));
    });
    EXPECT_TRUE(answer.ok());
    return std::pair(*answer, computed);
  };
  const auto first = digest(), second = digest();
  EXPECT_EQ(first.second, 1);
  EXPECT_EQ(second.second, 0);
  EXPECT_EQ(first.first, second.first);

  local_.WriteGzip("raw/edge.csv.gz", "0,1\n1,2\n2,3\n");
  EXPECT_EQ(digest().second, 1);
  access_.settling_time = std::chrono::hours(24);  // the file counts as recently changed
  EXPECT_EQ(digest().second, 1);
  EXPECT_EQ(digest().second, 1);
}

TEST_F(LocatedSourceTest, StagesOneFile) {
  Put("triples/all.txt", "a\tb\tc\n");
  const auto path = Path("mem://bucket/triples/all.txt", SourceFormat::kTriples);
  ASSERT_TRUE(path.ok()) << path.status().ToString();
  EXPECT_EQ(fs::path(*path).filename(), "all.txt");
  EXPECT_EQ(Contents(*path), "a\tb\tc\n");
}

TEST_F(LocatedSourceTest, ResumesAfterInterruption) {
  ASSERT_TRUE(ArmFailpoints("download.before_rename=error:UNAVAILABLE@5").ok());
  EXPECT_EQ(Path().status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(ArmFailpoints("").ok());
  const auto path = Path();
  ASSERT_TRUE(path.ok()) << path.status().ToString();
  EXPECT_TRUE(ReadSourceGraph({.format = SourceFormat::kOgb, .path = *path}).ok());
}

TEST_F(LocatedSourceTest, ReportsSourceChangedDuringRead) {
  tamper_ = [this](const std::string&, std::span<std::byte>) {
    Put("graphs/triangle/raw/edge.csv.gz", "changed");
    return Status();
  };
  const Status status = Path().status();
  EXPECT_TRUE(status.code() == StatusCode::kAborted || status.code() == StatusCode::kDataLoss) << status.ToString();
  tamper_ = nullptr;
  const auto path = Path();
  ASSERT_TRUE(path.ok()) << path.status().ToString();
  EXPECT_EQ(Contents(*path + "/raw/edge.csv.gz"), "changed");
}

// The object is replaced after the first listing and restored before the second one: only the download can detect it.
TEST_F(LocatedSourceTest, DropsCopyOfObjectThatChangedTemporarily) {
  const std::string key = "graphs/triangle/raw/edge.csv.gz";
  const std::string right = *store_.Get(key);
  LocatedSource source = *Find();
  Put(key, std::string(right.size(), 'x'));
  EXPECT_EQ(source.Path().status().code(), StatusCode::kAborted);
  Put(key, right);
  const auto path = Path();
  ASSERT_TRUE(path.ok()) << path.status().ToString();
  EXPECT_EQ(Contents(*path + "/raw/edge.csv.gz"), right);
}

TEST_F(LocatedSourceTest, NamesMissingFiles) {
  EXPECT_EQ(Find("mem://bucket/nowhere").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Find(cache_.path() + "/nowhere").status().code(), StatusCode::kNotFound);
  access_.cache.folder = "";
  const Status no_folder = Path().status();
  EXPECT_EQ(no_folder.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(no_folder.message(), HasSubstr("data directory"));
}

TEST_F(LocatedSourceTest, EndsOnStop) {
  access_.stop_requested = [] { return true; };
  EXPECT_EQ(Path().status().code(), StatusCode::kCancelled);
}

// Uses a store that ignores conditional requests, so that the test can choose the ETags.
class Md5Test : public LocatedSourceTest {
 protected:
  Md5Test() : LocatedSourceTest(Conditions::kIgnored) {}

  static constexpr char kMd5OfHello[] = "5d41402abc4b2a76b9719d911017c592";

  Result<std::string> Stage(const std::string& tag) {
    SourceFiles files{.uri = "mem://bucket/one", .is_folder = true, .files = {{"hello", 5, tag}}};
    SourceAccess access = access_;
    ASSIGN_OR_RETURN(const LocalSource local, StageSource(files, access, nullptr));
    return Contents(local.path + "/hello");
  }
};

TEST_F(Md5Test, RefetchesObjectsThatDifferFromETag) {
  Put("one/hello", "hello");
  tamper_ = [this](const std::string&, std::span<std::byte> bytes) {
    if (reads_ == 1) bytes[0] ^= std::byte{1};
    return Status();
  };
  const auto staged = Stage(kMd5OfHello);
  EXPECT_EQ(reads_, 2);
  // Aborted, because the listing after the download has other ETags than the one that the test has chosen.
  EXPECT_EQ(staged.status().code(), StatusCode::kAborted);
  EXPECT_EQ(*Stage(kMd5OfHello), "hello");
  EXPECT_EQ(reads_, 2);
}

TEST_F(Md5Test, AcceptsETagsThatAreNotMd5) {
  Put("one/hello", "hello");
  EXPECT_EQ(Stage(std::string(32, 'a')).status().code(), StatusCode::kAborted);  // the listing has another ETag
  EXPECT_EQ(*Stage(std::string(32, 'a')), "hello");
  EXPECT_EQ(reads_, 2);
}

TEST_F(Md5Test, RefusesUnstableBytes) {
  Put("one/hello", "hello");
  tamper_ = [this](const std::string&, std::span<std::byte> bytes) {
    bytes[0] = static_cast<std::byte>(reads_.load());
    return Status();
  };
  const Status status = Stage(kMd5OfHello).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr(kMd5OfHello));
}

}  // namespace
}  // namespace espalier::format
