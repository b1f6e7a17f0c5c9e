#include "services/storage/cache/local_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "services/base/testing/soon.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Status Write(const PartialFile& partial, const std::string& text) {
  if (pwrite(partial.descriptor, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return FromErrno(errno, "writing " + partial.path);
  }
  return Status();
}

// Returns a request for the file `name`, whose content is 100 times `letter`.
CachedFileRequest Request(const std::string& name, char letter) {
  return {.name = name, .size_bytes = 100, .is_good = nullptr, .fill = [letter](const PartialFile& partial) {
            return Write(partial, std::string(100, letter));
          }};
}

class LocalCacheTest : public ::testing::Test {
 protected:
  LocalCache Open(uint64_t max_bytes = 0) { return *LocalCache::Open({.folder = path(), .max_bytes = max_bytes}); }
  std::string path() const { return folder_.path() + "/cache"; }

  // Makes a file "f" in `entry` and releases the entry, with a last use `age` seconds ago.
  void Leave(const LocalCache& cache, const std::string& entry, int age) {
    const auto pinned = cache.Pin(entry, Soon());
    ASSERT_TRUE(pinned.ok()) << pinned.status().ToString();
    const auto made = (*pinned)->GetOrMake(Request("f", 'x'), Soon());
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    const fs::path pin = fs::path(path()) / entry / ".espalier-pin";
    fs::last_write_time(pin, fs::last_write_time(pin) - std::chrono::seconds(age));
  }
  bool Has(const std::string& entry) const { return fs::exists(fs::path(path()) / entry / "f"); }

  const TemporaryFolder folder_;
};

TEST_F(LocalCacheTest, CreatesFileOnce) {
  const LocalCache cache = Open();
  int fills = 0;
  CachedFileRequest request = Request("a/b", 'x');
  request.fill = [&](const PartialFile& partial) {
    ++fills;
    EXPECT_FALSE(partial.resumed);
    return Write(partial, std::string(100, 'x'));
  };
  for (int i = 0; i < 3; ++i) {
    const auto made = (*cache.Pin("e", Soon()))->GetOrMake(request, Soon());
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_EQ(*made, cache.folder() + "/e/a/b");
    EXPECT_EQ(Contents(*made), std::string(100, 'x'));
  }
  EXPECT_EQ(fills, 1);
}

TEST_F(LocalCacheTest, ReplacesBadFileWithoutChangingMappings) {
  const LocalCache cache = Open();
  const auto entry = *cache.Pin("e", Soon());
  const std::string made = *entry->GetOrMake(Request("f", 'x'), Soon());
  const int descriptor = open(made.c_str(), O_RDONLY);
  const void* const mapped = mmap(nullptr, 100, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  ASSERT_NE(mapped, MAP_FAILED);

  CachedFileRequest request = Request("f", 'y');
  request.is_good = [](const std::string& file) { return Contents(file) == std::string(100, 'y'); };
  EXPECT_EQ(Contents(*entry->GetOrMake(request, Soon())), std::string(100, 'y'));
  EXPECT_EQ(std::string(static_cast<const char*>(mapped), 100), std::string(100, 'x'));
  munmap(const_cast<void*>(mapped), 100);
}

TEST_F(LocalCacheTest, NextAttemptGetsPartialFile) {
  const auto entry = *Open().Pin("e", Soon());
  CachedFileRequest request = Request("f", 'x');
  request.fill = [](const PartialFile& partial) {
    EXPECT_TRUE(Write(partial, "half").ok());
    return Unavailable("the store went away");
  };
  EXPECT_EQ(entry->GetOrMake(request, Soon()).status().code(), StatusCode::kUnavailable);
  request.fill = [](const PartialFile& partial) {
    EXPECT_TRUE(partial.resumed);
    std::string found(4, '\0');
    EXPECT_EQ(pread(partial.descriptor, found.data(), 4, 0), 4);
    EXPECT_EQ(found, "half");
    return Write(partial, std::string(100, 'x'));
  };
  EXPECT_TRUE(entry->GetOrMake(request, Soon()).ok());
}

TEST_F(LocalCacheTest, EvictsTheLeastRecentlyUsedEntries) {
  const LocalCache cache = Open(/*max_bytes=*/350);
  Leave(cache, "old", 30);
  Leave(cache, "a/older", 40);
  Leave(cache, "new", 10);
  Leave(cache, "one-more", 0);
  EXPECT_FALSE(Has("a/older"));
  EXPECT_FALSE(fs::exists(path() + "/a"));  // an empty folder is removed, too
  EXPECT_TRUE(Has("old") && Has("new") && Has("one-more"));

  EXPECT_TRUE(cache.Pin("old", Soon()).ok());  // makes it the most recently used entry
  Leave(cache, "and-one", 0);
  EXPECT_TRUE(Has("old"));
  EXPECT_FALSE(Has("new"));
}

TEST_F(LocalCacheTest, EvictsNothingThatIsInUse) {
  const LocalCache cache = Open(/*max_bytes=*/250);
  Leave(cache, "old", 30);
  const auto in_use = *LocalCache::Open({.folder = path()})->Pin("old", Soon());
  const fs::path pin = path() + "/old/.espalier-pin";
  fs::last_write_time(pin, fs::last_write_time(pin) - std::chrono::seconds(30));
  Leave(cache, "new", 10);
  Leave(cache, "newer", 0);
  EXPECT_TRUE(Has("old"));
  EXPECT_FALSE(Has("new"));

  const auto also_in_use = *cache.Pin("newer", Soon());
  const Status full = (*cache.Pin("newest", Soon()))->GetOrMake(Request("f", 'x'), Soon()).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("limited to 250 bytes, of which 200 are in use"));
  EXPECT_THAT(full.message(), HasSubstr(path() + "/newest/.espalier-partial-f"));
  EXPECT_FALSE(fs::exists(path() + "/newest/.espalier-partial-f"));
}

TEST_F(LocalCacheTest, EvictsEntryWithoutNestedEntries) {
  const LocalCache cache = Open(/*max_bytes=*/250);
  Leave(cache, "outer", 30);
  Leave(cache, "outer/inner", 10);
  Leave(cache, "new", 0);
  EXPECT_FALSE(Has("outer"));
  EXPECT_TRUE(Has("outer/inner") && Has("new"));
}

TEST_F(LocalCacheTest, EvictsPartialFilesOfDeadProcess) {
  const LocalCache cache = Open(/*max_bytes=*/150);
  {
    const auto entry = *cache.Pin("dead", Soon());
    CachedFileRequest request = Request("f", 'x');
    request.fill = [](const PartialFile&) { return Unavailable("killed"); };
    EXPECT_FALSE(entry->GetOrMake(request, Soon()).ok());
  }
  ASSERT_TRUE(fs::exists(path() + "/dead/.espalier-partial-f"));
  Leave(cache, "new", 0);
  EXPECT_FALSE(fs::exists(path() + "/dead"));
}

TEST_F(LocalCacheTest, OneOfManyCreatesFileAndOthersWait) {
  std::atomic<int> fills{0}, making{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const LocalCache cache = Open(1000);
      const auto entry = cache.Pin("e", Soon());
      ASSERT_TRUE(entry.ok()) << entry.status().ToString();
      CachedFileRequest request = Request("f", 'x');
      request.fill = [&](const PartialFile& partial) {
        ++fills;
        EXPECT_EQ(++making, 1);
        const Status status = Write(partial, std::string(100, 'x'));
        --making;
        return status;
      };
      const auto made = (*entry)->GetOrMake(request, Soon());
      ASSERT_TRUE(made.ok()) << made.status().ToString();
      EXPECT_EQ(Contents(*made), std::string(100, 'x'));
    });
  }
  threads.clear();
  EXPECT_EQ(fills, 1);
}

class VerifyOncePerUseTest : public LocalCacheTest {
 protected:
  // Requests the file "f" in a new CacheEntry, as another process would, and returns the entry.
  std::shared_ptr<CacheEntry> Use() {
    const auto entry = Open().Pin("e", Soon());
    EXPECT_TRUE(entry.ok()) << entry.status().ToString();
    if (!entry.ok()) return nullptr;
    CachedFileRequest request = Request("f", 'x');
    request.verify = VerifyWhen::kOncePerUse;
    request.is_good = [this](const std::string& file) {
      ++looks_;
      return Contents(file) == std::string(100, 'x');
    };
    request.fill = [this](const PartialFile& partial) {
      ++fills_;
      return Write(partial, std::string(100, 'x'));
    };
    const auto made = (*entry)->GetOrMake(request, Soon());
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_EQ(Contents(path() + "/e/f"), std::string(100, 'x'));
    return *entry;
  }

  std::atomic<int> looks_{0}, fills_{0};
};

TEST_F(VerifyOncePerUseTest, CreatedFileIsVerifiedOncePerUse) {
  {
    const auto maker = Use();
    const auto user = Use();
    EXPECT_EQ(looks_, 0);
  }
  {
    const auto first = Use();
    EXPECT_EQ(looks_, 1);
    auto second = Use();
    const auto third = Use();
    second.reset();
    const auto fourth = Use();
    EXPECT_EQ(looks_, 1);
  }
  const auto anew = Use();
  EXPECT_EQ(looks_, 2);
  EXPECT_EQ(fills_, 1);
}

TEST_F(VerifyOncePerUseTest, OneOfManyProcessesVerifies) {
  Leave(Open(), "e", 0);
  std::vector<std::shared_ptr<CacheEntry>> users(8);
  {
    std::vector<std::jthread> threads;
    for (auto& user : users) threads.emplace_back([&user, this] { user = Use(); });
  }
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(fills_, 0);
}

TEST_F(VerifyOncePerUseTest, BadFileIsRecreatedOnce) {
  {
    const auto entry = *Open().Pin("e", Soon());
    ASSERT_TRUE(entry->GetOrMake(Request("f", 'y'), Soon()).ok());
  }
  const auto first = Use();
  EXPECT_EQ(looks_, 1);
  const auto second = Use();
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(fills_, 1);
}

TEST_F(VerifyOncePerUseTest, AlwaysVerifyIgnoresMark) {
  const auto maker = Use();
  CachedFileRequest request = Request("f", 'x');
  int looks = 0;
  request.is_good = [&](const std::string&) { return ++looks > 0; };
  ASSERT_TRUE((*Open().Pin("e", Soon()))->GetOrMake(request, Soon()).ok());
  EXPECT_EQ(looks, 1);
}

TEST_F(LocalCacheTest, StopEndsWaitForAnotherProcess) {
  const auto entry = *Open().Pin("e", Soon());
  const auto maker = FileLock::TryAcquire(path() + "/e/.espalier-partial-f", LockMode::kExclusive);
  ASSERT_TRUE(maker.ok()) << maker.status().ToString();
  CachedFileRequest request = Request("f", 'x');
  int requested = 0;
  request.stop_requested = [&] { return ++requested > 2; };
  const Status stopped = entry->GetOrMake(request, Soon()).status();
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled);
  EXPECT_THAT(stopped.message(), HasSubstr(".espalier-partial-f"));
}

// The verification of 100 GB takes minutes. If it is stopped, is_good returns false although the file may be good.
TEST_F(LocalCacheTest, StoppedVerificationKeepsFile) {
  Leave(Open(), "e", 0);
  const auto entry = *Open().Pin("e", Soon());
  for (const VerifyWhen verify : {VerifyWhen::kAlways, VerifyWhen::kOncePerUse}) {
    CachedFileRequest request = Request("f", 'y');
    request.verify = verify;
    bool is_stopped = false;
    request.is_good = [&](const std::string&) {
      is_stopped = true;
      return false;
    };
    request.stop_requested = [&] { return is_stopped; };
    EXPECT_EQ(entry->GetOrMake(request, Soon()).status().code(), StatusCode::kCancelled);
    EXPECT_EQ(Contents(entry->folder() + "/f"), std::string(100, 'x'));
  }
}

// Another process hangs while it verifies a valid file, or while it makes a file.
TEST_F(LocalCacheTest, WaitForHangingVerificationIsLimited) {
  Leave(Open(), "e", 0);
  const auto entry = *Open().Pin("e", Soon());
  const auto hanging = FileLock::TryAcquire(path() + "/e/.espalier-partial-f", LockMode::kExclusive);
  ASSERT_TRUE(hanging.ok()) << hanging.status().ToString();
  CachedFileRequest request = Request("f", 'y');
  request.verify = VerifyWhen::kOncePerUse;
  request.max_verification_time = std::chrono::milliseconds(1);
  int looks = 0;
  bool good = true;
  request.is_good = [&](const std::string&) {
    ++looks;
    return good;
  };
  const auto found = entry->GetOrMake(request, Soon());
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(Contents(*found), std::string(100, 'x'));
  EXPECT_EQ(looks, 1);

  good = false;  // only the process that holds the lock may make the file again
  int requested = 0;
  request.stop_requested = [&] { return looks > 1 && ++requested > 2; };
  EXPECT_EQ(entry->GetOrMake(request, Soon()).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(looks, 2);
  request.stop_requested = [&] { return ++requested > 8; };
  request.name = "in-the-making";
  const auto maker = FileLock::TryAcquire(path() + "/e/.espalier-partial-in-the-making", LockMode::kExclusive);
  EXPECT_EQ(entry->GetOrMake(request, Soon()).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(looks, 2);
}

// The cache has room for three of six entries. Each thread gets the requested entry, which stays while it is pinned.
TEST_F(LocalCacheTest, ServesManyWhileItEvicts) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const LocalCache cache = Open(300);
      for (int i = 0; i < 60; ++i) {
        const int which = (i * (t + 1) + t) % 6;
        const auto entry = cache.Pin("entry-" + std::to_string(which), Soon());
        ASSERT_TRUE(entry.ok()) << entry.status().ToString();
        const auto letter = static_cast<char>('a' + which);
        const auto made = (*entry)->GetOrMake(Request("folder/f", letter), Soon());
        ASSERT_TRUE(made.ok()) << made.status().ToString();
        ASSERT_EQ(Contents(*made), std::string(100, letter));
      }
    });
  }
  threads.clear();
  uint64_t total = 0;
  for (const auto& file : fs::recursive_directory_iterator(path())) {
    if (file.is_regular_file()) total += file.file_size();
  }
  EXPECT_LE(total, 300u);
}

// A process that dies while it makes a file, and so holds the file's lock, does not block others.
TEST_F(LocalCacheTest, SurvivesProcessKilledDuringCreation) {
  const LocalCache cache = Open();
  EXPECT_EXIT(
      {
        CachedFileRequest request = Request("f", 'x');
        request.fill = [](const PartialFile& partial) {
          (void)Write(partial, "half");
          _exit(7);
          return Status();
        };
        (void)(*cache.Pin("e", Soon()))->GetOrMake(request, Soon());
      },
      ::testing::ExitedWithCode(7), "");
  EXPECT_FALSE(Has("e"));
  const auto made = (*cache.Pin("e", Soon()))->GetOrMake(Request("f", 'x'), Soon());
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ(Contents(*made), std::string(100, 'x'));
}

TEST_F(LocalCacheTest, RefusesNamesOutsideCache) {
  const LocalCache cache = Open();
  EXPECT_EQ(cache.Pin("../e", Soon()).status().code(), StatusCode::kInvalidArgument);
  const auto entry = *cache.Pin("e", Soon());
  EXPECT_EQ(entry->GetOrMake(Request("../f", 'x'), Soon()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(LocalCache::Open({.folder = ""}).status().code(), StatusCode::kInvalidArgument);
  std::ofstream(folder_.path() + "/file") << "x";
  EXPECT_EQ(LocalCache::Open({.folder = folder_.path() + "/file"}).status().code(), StatusCode::kFailedPrecondition);
}

TEST(FileLockTest, ExcludesAndTimesOut) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  {
    const auto shared = FileLock::TryAcquire(path, LockMode::kShared);
    ASSERT_TRUE(shared.ok());
    EXPECT_TRUE(FileLock::TryAcquire(path, LockMode::kShared).ok());
    EXPECT_EQ(FileLock::TryAcquire(path, LockMode::kExclusive).status().code(), StatusCode::kUnavailable);
    const Status late = FileLock::Acquire(path, LockMode::kExclusive, Deadline::At(SteadyTime())).status();
    EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
    EXPECT_THAT(late.message(), HasSubstr(path));
  }
  EXPECT_TRUE(FileLock::TryAcquire(path, LockMode::kExclusive).ok());
  EXPECT_EQ(FileLock::TryAcquire(folder.path() + "/none/lock", LockMode::kShared).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace espalier::storage
