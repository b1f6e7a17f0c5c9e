#include "services/storage/file_store.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/object_store_suite.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {
namespace {

// A FileStore and its folder.
std::shared_ptr<ObjectStore> FileStoreInNewFolder() {
  struct Both {
    TemporaryFolder folder;
    FileStore store{folder.path() + "/made/at/first/put"};
  };
  const auto both = std::make_shared<Both>();
  return {both, &both->store};
}

INSTANTIATE_TEST_SUITE_P(Drivers, ObjectStoreSuite,
                         ::testing::Values(StoreCase{"Memory", [] { return std::make_shared<MemoryStore>(); }},
                                           StoreCase{"File", FileStoreInNewFolder}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace espalier::storage
