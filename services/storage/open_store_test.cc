#include "services/storage/open_store.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace espalier::storage {
namespace {

TEST(LocateFileTest, SplitsAUriIntoFolderAndFile) {
  const std::pair<const char*, const char*> uris[] = {{"/a/b/best.safetensors", "file:///a/b"},
                                                      {"file:///a/best.safetensors", "file:///a"},
                                                      {"file:/best.safetensors", "file:///"},
                                                      {"file:///best.safetensors", "file:///"},
                                                      {"/best.safetensors", "file:///"}};
  for (const auto& [uri, folder] : uris) {
    const Result<StoreLocation> location = LocateFile(uri, OpenerWith({}));
    ASSERT_TRUE(location.ok()) << uri << ": " << location.status().ToString();
    EXPECT_EQ(location->store->Describe(), folder) << uri;
    EXPECT_EQ(location->prefix, "best.safetensors");
  }
  for (const char* uri : {"best.safetensors", "file:best.safetensors"}) {
    const Result<StoreLocation> location = LocateFile(uri, OpenerWith({}));
    ASSERT_TRUE(location.ok()) << uri;
    EXPECT_EQ(location->prefix, "best.safetensors");
  }
  for (const char* uri : {"", "/", "models/", "s3://bucket", "s3://bucket/", "file://best.pt"}) {
    EXPECT_EQ(LocateFile(uri, OpenerWith({})).status().code(), StatusCode::kInvalidArgument) << uri;
  }
}

// Callers may pass their own function to open stores, for example for stores in memory or to count reads.
TEST(LocateFileTest, OpensFolderWithOpener) {
  const std::pair<const char*, const char*> uris[] = {{"s3a://bucket/a/b.pt", "s3://bucket/a"},
                                                      {"s3://bucket/b.pt", "s3://bucket"},
                                                      {"file:///b.pt", "file:///"},
                                                      {"b.pt", "."}};
  for (const auto& [uri, folder] : uris) {
    std::string opened;
    const auto location = LocateFile(uri, [&](const std::string& requested) -> Result<StoreLocation> {
      opened = requested;
      return StoreLocation{nullptr, "below"};
    });
    ASSERT_TRUE(location.ok()) << uri;
    EXPECT_EQ(opened, folder);
    EXPECT_EQ(location->prefix, "below/b.pt");
  }
}

}  // namespace
}  // namespace espalier::storage
