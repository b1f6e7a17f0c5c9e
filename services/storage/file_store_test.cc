#include "services/storage/file_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "services/storage/open_store.h"
#include "services/storage/temporary_file.h"
#include "services/storage/testing/faulty_store.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns all files below a folder, including hidden ones.
std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
  }
  return names;
}

// Limits the size of this process's files during its lifetime. Writes beyond the limit fail as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limited = {bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  using Handler = void (*)(int);
  Handler old_handler_;
  rlimit old_ = {};
};

// Drops root's privileges during its lifetime, because root may write everywhere.
class WithoutRoot {
 public:
  WithoutRoot() : was_root_(geteuid() == 0) {
    if (was_root_ && seteuid(65534) != 0) works_ = false;
  }
  ~WithoutRoot() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  bool works() const { return works_; }

 private:
  const bool was_root_;
  bool works_ = true;
};

TEST(FileStoreTest, ListsWhileFoldersDisappear) {
  const TemporaryFolder folder;
  FileStore store(folder.path());
  ASSERT_TRUE(PutText(store, "job/kept/file", "x").ok());
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    for (uint64_t i = 0; !is_over; ++i) {
      const std::string key = "job/attempt-" + std::to_string(i) + "/deep/file";
      EXPECT_TRUE(PutText(store, key, "x").ok());
      EXPECT_TRUE(store.Delete(key).ok());
    }
  });
  for (int i = 0; i < 500; ++i) {
    const auto listed = store.List("job/");
    EXPECT_TRUE(listed.ok()) << listed.status().ToString();
    EXPECT_TRUE(!listed.ok() || !listed->empty());
  }
  is_over = true;
  other.join();
}

TEST(FileStoreTest, KeepsObjectsAsFilesOfTheirKeys) {
  const TemporaryFolder folder;
  FileStore store(folder.path());
  ASSERT_TRUE(PutText(store, "a/b.txt", "text").ok());

  std::ifstream file(folder.path() + "/a/b.txt");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "text");
  EXPECT_EQ(store.LocalPath("a/b.txt"), folder.path() + "/a/b.txt");
  EXPECT_EQ(store.Describe(), "file://" + folder.path());
}

TEST(FileStoreTest, UnfinishedWriteLeavesNoFile) {
  const TemporaryFolder folder;
  FileStore store(folder.path());
  {
    const auto writer = store.Put("half");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Write(BytesOf("half")).ok());
    EXPECT_EQ(FilesIn(folder.path()).size(), 1u);  // the temporary one
  }
  EXPECT_TRUE(store.PutIfAbsent("whole", BytesOf("x")).ok());
  EXPECT_FALSE(store.PutIfAbsent("whole", BytesOf("y")).ok());
  EXPECT_THAT(FilesIn(folder.path()), ElementsAre("whole"));
}

TEST(FileStoreTest, DoesNotListFilesOfKilledProcess) {
  const TemporaryFolder folder;
  FileStore store(folder.path());
  ASSERT_TRUE(PutText(store, "a/whole", "x").ok());
  std::ofstream(folder.path() + "/a/.espalier-1234") << "half";

  const auto objects = store.List("a/");
  ASSERT_TRUE(objects.ok());
  ASSERT_EQ(objects->size(), 1u);
  EXPECT_EQ((*objects)[0].key, "a/whole");
}

// Sets the time of the last write to two hours ago.
void MakeOld(const std::string& path) {
  const auto then = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
  std::filesystem::last_write_time(path, then);
}

std::string TemporaryFileIn(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (IsTemporaryFile(entry.path())) return entry.path().string();
  }
  return "";
}

// NFS may report EEXIST for a link that it has created itself, if its first response was lost (link(2)).
TEST(FileStoreTest, ExistingLinkIsOwnObject) {
  const TemporaryFolder folder;
  const std::string target = folder.path() + "/manifest";
  const auto file = TemporaryFile::CreateBeside(target);
  ASSERT_TRUE(file.ok() && (*file)->Write(BytesOf("ours")).ok());
  std::filesystem::create_hard_link(TemporaryFileIn(folder.path()), target);
  EXPECT_TRUE((*file)->LinkToTarget().ok());
  const auto other = TemporaryFile::CreateBeside(target);
  ASSERT_TRUE(other.ok() && (*other)->Write(BytesOf("theirs")).ok());
  EXPECT_EQ((*other)->LinkToTarget().code(), StatusCode::kAlreadyExists);
}

TEST(FileStoreTest, RemovesFilesOfProcessKilledHourAgo) {
  const TemporaryFolder folder;
  FileStore store(folder.path());
  ASSERT_TRUE(PutText(store, "a/whole", "x").ok());
  const pid_t child = fork();
  if (child == 0) {
    for (const char* key : {"a/half", "empty/but/for/it"}) {
      auto writer = store.Put(key);
      if (writer.ok()) (void)(*writer)->Write(BytesOf("half"));
      (void)writer->release();  // a killed process runs no destructors
    }
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(FilesIn(folder.path()).size(), 3u);

  EXPECT_EQ(store.List("")->size(), 1u);
  EXPECT_EQ(FilesIn(folder.path()).size(), 3u);  // a process on another machine may be writing them
  MakeOld(TemporaryFileIn(folder.path() + "/a"));
  MakeOld(TemporaryFileIn(folder.path() + "/empty/but/for"));
  EXPECT_EQ(store.List("")->size(), 1u);
  EXPECT_THAT(FilesIn(folder.path()), ElementsAre("whole"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/empty"));
}

TEST(FileStoreTest, KeepsFileOfSlowWriter) {
  const TemporaryFolder folder;
  FileStore store(folder.path());
  const auto writer = store.Put("slow");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write(BytesOf("text")).ok());
  MakeOld(TemporaryFileIn(folder.path()));
  EXPECT_THAT(*store.List(""), IsEmpty());
  ASSERT_TRUE((*writer)->Commit().ok());
  EXPECT_EQ(*store.Get("slow"), "text");
}

TEST(FileStoreTest, NamesPathAndBytesWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  FileStore store(folder.path());
  const FileSizeLimit limit(100);
  const auto writer = store.Put("big");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write(BytesOf(std::string(60, 'x'))).ok());

  const Status full = (*writer)->Write(BytesOf(std::string(300, 'x')));
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted) << full.ToString();
  EXPECT_THAT(full.message(), HasSubstr(folder.path() + "/big"));
  EXPECT_THAT(full.message(), HasSubstr("260 bytes"));  // the bytes that were not written
  EXPECT_THAT(full.message(), HasSubstr("after 100 bytes"));
  const Status small = store.PutIfAbsent("small", BytesOf(std::string(101, 'x')));
  EXPECT_EQ(small.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(store.Get("small").status().code(), StatusCode::kNotFound);
}

TEST(FileStoreTest, ReportsUnwritablePath) {
  const TemporaryFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  FileStore store(folder.path());
  const WithoutRoot unprivileged;
  if (!unprivileged.works()) GTEST_SKIP() << "this root cannot become another user";

  const Status put = store.Put("file").status();
  EXPECT_EQ(put.code(), StatusCode::kPermissionDenied) << put.ToString();
  EXPECT_THAT(put.message(), HasSubstr(folder.path()));
  EXPECT_EQ(store.PutIfAbsent("deep/file", BytesOf("x")).code(), StatusCode::kPermissionDenied);
}

TEST(FileStoreTest, RefusesFolderInPlaceOfFile) {
  const TemporaryFolder folder;
  FileStore store(folder.path());
  ASSERT_TRUE(PutText(store, "a", "file").ok());

  const Status put = store.Put("a/b").status();
  EXPECT_EQ(put.code(), StatusCode::kFailedPrecondition) << put.ToString();
  EXPECT_THAT(put.message(), HasSubstr("this path or a parent of it is a file"));
}

TEST(OpenStoreTest, OpensPathsAndFileUris) {
  const TemporaryFolder folder;
  for (const std::string& uri : {folder.path() + "/x", "file://" + folder.path() + "/x", folder.path() + "/y/../x/",
                                 "file:" + folder.path() + "/x"}) {
    const Result<StoreLocation> location = OpenStore(uri);
    ASSERT_TRUE(location.ok()) << uri << ": " << location.status().ToString();
    EXPECT_EQ(location->prefix, "");
    EXPECT_EQ(location->store->Describe(), "file://" + folder.path() + "/x") << uri;
  }
}

TEST(OpenStoreTest, MakesRelativePathsAbsolute) {
  const std::string expected = "file://" + (std::filesystem::current_path() / "graphs").string();
  EXPECT_EQ(OpenStore("graphs")->store->Describe(), expected);
  EXPECT_EQ(OpenStore("file:graphs")->store->Describe(), expected);
}

TEST(OpenStoreTest, NamesUnknownScheme) {
  const Status gs = OpenStore("gs://bucket/graphs").status();
  EXPECT_EQ(gs.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(gs.message(), HasSubstr("no driver for gs://: expected a path, a file: URI or s3://bucket/prefix"));
  EXPECT_EQ(OpenStore("file://elsewhere/graphs").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenStore("").status().code(), StatusCode::kInvalidArgument);
}

// A location has the same name for all spellings of its scheme, because names of stores go into keys and messages.
TEST(OpenStoreTest, OpensS3ByEverySpellingOfItsScheme) {
  StoreSettings settings;
  settings.s3.endpoint = "http://127.0.0.1:9";
  settings.s3.credentials.access_key_id = "key";
  settings.s3.credentials.secret_access_key = telemetry::Secret("secret");
  for (const std::string scheme : {"s3", "S3", "s3a", "S3A"}) {
    const Result<StoreLocation> location = OpenStore(scheme + "://bucket/graphs/cora/", settings);
    ASSERT_TRUE(location.ok()) << scheme << ": " << location.status().ToString();
    EXPECT_EQ(location->store->Describe(), "s3://bucket/graphs/cora") << scheme;
  }
}

TEST(FaultyStoreTest, FailsFromTheChosenWriteOn) {
  const TemporaryFolder folder;
  FileStore inner(folder.path());
  FaultyStore store(inner, 2);
  const auto writer = store.Put("a");
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE((*writer)->Write(BytesOf("0")).ok());
  EXPECT_TRUE((*writer)->Write(BytesOf("1")).ok());
  EXPECT_EQ((*writer)->Commit().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(store.PutIfAbsent("b", BytesOf("x")).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(store.num_writes(), 4);
  EXPECT_THAT(*inner.List(""), IsEmpty());
}

}  // namespace
}  // namespace espalier::storage
