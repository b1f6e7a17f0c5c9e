#include "services/storage/place_check.h"

#include <gtest/gtest.h>

#include "services/storage/memory_store.h"

namespace espalier::storage {
namespace {

TEST(FindExitCodeTest, DependsOnWhetherStoresOpen) {
  const StoreOpener open = [](const std::string& uri) -> Result<StoreLocation> {
    if (uri == "wrong") return InvalidArgument("no such scheme");
    if (uri == "locked") return Status(StatusCode::kPermissionDenied, "no key");
    return StoreLocation{std::make_shared<MemoryStore>(), ""};
  };
  EXPECT_EQ(FindExitCode(InvalidArgument("a bad row"), {"here"}, open), ExitCode::kBadInput);
  EXPECT_EQ(FindExitCode(InvalidArgument("a bad row"), {"locked"}, open), ExitCode::kBadInput);
  EXPECT_EQ(FindExitCode(InvalidArgument("a bad row"), {"", ""}, open), ExitCode::kBadInput) << "no place is named";
  EXPECT_EQ(FindExitCode(NotFound("no file"), {"wrong"}, open), ExitCode::kBadDocument);
  EXPECT_EQ(FindExitCode(DataLoss("damaged"), {"locked", "wrong"}, open), ExitCode::kBadDocument);
  EXPECT_EQ(FindExitCode(Unavailable("later"), {"wrong"}, open), ExitCode::kUnavailable);
}

}  // namespace
}  // namespace espalier::storage
