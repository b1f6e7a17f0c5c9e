// Typical archives of users, and archives that must not be unpacked.
#include "services/job/script/unpack_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "services/base/check.h"
#include "services/base/file.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::script {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

enum class Packed { kTar, kTarGzip, kZip };
constexpr Packed kAll[] = {Packed::kTar, Packed::kTarGzip, Packed::kZip};

struct Member {
  std::string path;
  std::string content = {};
  unsigned type = AE_IFREG;
  unsigned mode = 0644;
  std::string symlink = {};
  std::string hardlink = {};
};

std::string Pack(Packed packed, const std::vector<Member>& members) {
  size_t size_bytes = size_t{1} << 20;
  for (const Member& member : members) size_bytes += 2048 + member.content.size();
  std::string bytes(size_bytes, '\0');
  size_t used = 0;
  archive* const writer = archive_write_new();
  if (packed == Packed::kZip) {
    ESPALIER_CHECK(archive_write_set_format_zip(writer) == ARCHIVE_OK);
  } else {
    ESPALIER_CHECK(archive_write_set_format_pax_restricted(writer) == ARCHIVE_OK);
  }
  if (packed == Packed::kTarGzip) ESPALIER_CHECK(archive_write_add_filter_gzip(writer) == ARCHIVE_OK);
  ESPALIER_CHECK(archive_write_open_memory(writer, bytes.data(), bytes.size(), &used) == ARCHIVE_OK);
  for (const Member& member : members) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.path.c_str());
    archive_entry_set_filetype(entry, member.type);
    archive_entry_set_perm(entry, member.mode);
    if (!member.symlink.empty()) archive_entry_set_symlink(entry, member.symlink.c_str());
    if (!member.hardlink.empty()) archive_entry_set_hardlink(entry, member.hardlink.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.content.size()));
    ESPALIER_CHECK(archive_write_header(writer, entry) == ARCHIVE_OK) << archive_error_string(writer);
    if (!member.content.empty()) archive_write_data(writer, member.content.data(), member.content.size());
    archive_entry_free(entry);
  }
  ESPALIER_CHECK(archive_write_close(writer) == ARCHIVE_OK);
  archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}

class UnpackArchiveTest : public testing::Test {
 protected:
  UnpackArchiveTest() { fs::create_directory(inside_); }

  Status Unpack(const std::string& bytes, const ArchiveLimits& limits = {}) {
    return UnpackArchive(bytes, "s3://code/jobs", inside_, limits);
  }
  std::string ContentOf(const std::string& path) {
    const Result<std::string> content = ReadFile(inside_ + "/" + path, 1 << 20);
    return content.ok() ? *content : content.status().ToString();
  }
  unsigned ModeOf(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(stat((inside_ + "/" + path).c_str(), &found), 0) << path;
    return found.st_mode & 0777u;
  }
  // Expects that the parent folder contains only the target folder.
  void ExpectNothingOutside() {
    for (const auto& entry : fs::directory_iterator(folder_.path())) EXPECT_EQ(entry.path(), inside_);
  }
  void ExpectRefused(const Member& member, const std::string& words) {
    for (const Packed packed : {Packed::kTar, Packed::kZip}) {
      if (packed == Packed::kZip && !member.hardlink.empty()) continue;  // zip has no hard links
      const Status status = Unpack(Pack(packed, {{"first.py", "1"}, member}));
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << member.path;
      EXPECT_THAT(status.message(), HasSubstr("s3://code/jobs: entry '" + member.path)) << member.path;
      EXPECT_THAT(status.message(), HasSubstr(words)) << member.path;
      ExpectNothingOutside();
    }
  }

  storage::TemporaryFolder folder_;
  const std::string inside_ = folder_.path() + "/inside";
};

TEST_F(UnpackArchiveTest, WritesWorldReadableFiles) {
  for (const Packed packed : kAll) {
    const std::string bytes = Pack(packed, {{"./", "", AE_IFDIR, 0700},
                                            {"./train.py", "import model", AE_IFREG, 0600},
                                            {"model/", "", AE_IFDIR, 0700},
                                            {"model/layers/sage.py", "pass"},
                                            {"prepare.sh", "true", AE_IFREG, 0700}});
    ASSERT_TRUE(Unpack(bytes).ok()) << Unpack(bytes).ToString();  // each archive replaces the files of the one before
    EXPECT_EQ(ContentOf("train.py"), "import model");
    EXPECT_EQ(ContentOf("model/layers/sage.py"), "pass");
    EXPECT_EQ(ModeOf("train.py"), 0644u);
    EXPECT_EQ(ModeOf("model"), 0755u);
    EXPECT_EQ(ModeOf("model/layers"), 0755u);
    EXPECT_EQ(ModeOf("prepare.sh"), 0755u);
  }
}

TEST_F(UnpackArchiveTest, RefusesPathsOutsideFolder) {
  for (const char* const path : {"../evil.py", "/evil.py", "a/../../evil.py", "a/./b.py", ".././evil.py"}) {
    ExpectRefused({path, "evil"}, "leads outside");
  }
  ExpectRefused({"../evil", "", AE_IFDIR, 0755}, "leads outside");
}

TEST_F(UnpackArchiveTest, RefusesLinksAndDevices) {
  ExpectRefused({.path = "link", .type = AE_IFLNK, .symlink = "/etc"},
                "is a symbolic link: pack only files and folders (tar --dereference --hard-dereference)");
  ExpectRefused({.path = "hard", .hardlink = "first.py"},
                "is a hard link: pack only files and folders (tar --hard-dereference)");
  for (const unsigned type : {static_cast<unsigned>(AE_IFIFO), static_cast<unsigned>(AE_IFCHR)}) {
    const Status status = Unpack(Pack(Packed::kTar, {{.path = "odd", .type = type}}));
    EXPECT_THAT(status.message(), HasSubstr("entry 'odd' is not a file or folder"));
  }
}

TEST_F(UnpackArchiveTest, RefusesDuplicateNames) {
  ExpectRefused({"first.py", "2"}, "occurs twice");
  const Status below = Unpack(Pack(Packed::kTar, {{"first.py", "1"}, {"first.py/below.py", "2"}}));
  EXPECT_THAT(below.message(), HasSubstr("entry 'first.py' is a file and a folder"));
  const Status over = Unpack(Pack(Packed::kTar, {{"model/sage.py", "1"}, {"model", "2"}}));
  EXPECT_EQ(over.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(over.message(), HasSubstr("entry 'model' is a file and a folder"));
}

TEST_F(UnpackArchiveTest, StopsAtItsLimits) {
  // 4 MiB of zeros in a few KiB, of which at most the limit and one chunk are written.
  for (const Packed packed : {Packed::kTarGzip, Packed::kZip}) {
    const std::string bomb = Pack(packed, {{"zeros", std::string(4 << 20, '\0')}});
    EXPECT_LT(bomb.size(), size_t{16} << 10);
    const Status status = Unpack(bomb, {.max_bytes = 100'000, .max_entries = 10});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("more than 100000 bytes"));
    EXPECT_LE(fs::file_size(inside_ + "/zeros"), 200'000u);
  }
  const std::string many = Pack(Packed::kZip, {{"a", "1"}, {"b", "2"}, {"c", "3"}});
  EXPECT_THAT(Unpack(many, {.max_bytes = 100, .max_entries = 2}).message(), HasSubstr("more than 2 entries"));
  EXPECT_TRUE(Unpack(many, {.max_bytes = 3, .max_entries = 3}).ok());
  const std::string deep = Pack(Packed::kZip, {{"deep/er/still/a", "1"}});
  EXPECT_THAT(Unpack(deep, {.max_bytes = 100, .max_entries = 2}).message(), HasSubstr("more than 2 entries"));
}

TEST_F(UnpackArchiveTest, RefusesDamagedArchives) {
  for (const Packed packed : kAll) {
    std::string content;
    for (uint32_t i = 0; content.size() < 100'000; i = i * 1664525 + 1013904223) content += std::to_string(i);
    const std::string bytes = Pack(packed, {{"train.py", content}});
    ASSERT_TRUE(Unpack(bytes).ok());
    const Status cut = Unpack(bytes.substr(0, bytes.size() / 2));
    EXPECT_EQ(cut.code(), StatusCode::kInvalidArgument) << cut.ToString();
    EXPECT_THAT(cut.message(), HasSubstr("is damaged"));
    if (packed != Packed::kZip) continue;  // only zip has checksums of contents that libarchive verifies
    std::string flipped = bytes;
    flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
    EXPECT_EQ(Unpack(flipped).code(), StatusCode::kInvalidArgument);
  }
  for (const char* const text : {"", "import torch\n", "PK"}) {
    EXPECT_EQ(Unpack(text).code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(Unpack(Pack(Packed::kTar, {})).message(), HasSubstr("s3://code/jobs: "));
}

}  // namespace
}  // namespace espalier::script
