#include "services/format/files/manifest_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "services/format/partition/partition_files.h"
#include "services/format/results/outputs_manifest.h"
#include "services/storage/open_store.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::format {
namespace {

using ::testing::HasSubstr;

TEST(ManifestTextTest, RefusesTooLargeManifest) {
  const storage::TemporaryFolder folder;
  const std::string path = folder.path() + "/manifest.json";
  std::ofstream(path) << "{}";
  const storage::StoreLocation at = *storage::OpenStore(folder.path());
  EXPECT_EQ(*ReadManifestText(*at.store, "manifest.json"), "{}");
  EXPECT_EQ(ReadManifestText(*at.store, "other.json").status().code(), StatusCode::kNotFound);
  std::filesystem::resize_file(path, kMaxManifestBytes + 1);  // a sparse file: uses no disk space
  for (const Status& refused : {ReadManifestText(*at.store, "manifest.json").status(),
                                ReadManifest(*at.store, "").status(), ReadOutputsManifest(*at.store, "").status()}) {
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), HasSubstr("268435457 bytes, too large for a manifest"));
  }
}

}  // namespace
}  // namespace espalier::format
