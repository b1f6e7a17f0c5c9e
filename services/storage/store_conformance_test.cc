#include "services/base/testing/fake_clock.h"
#include "services/storage/file_store.h"
#include "services/storage/memory_store.h"
#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/s3_store.h"
#include "services/storage/testing/fake_s3.h"
#include "services/storage/testing/faulty_transport.h"
#include "services/storage/testing/object_store_suite.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {
namespace {

// Returns a FileStore that owns its folder.
std::shared_ptr<ObjectStore> FileStoreInNewFolder() {
  struct Both {
    TemporaryFolder folder;
    FileStore store{folder.path() + "/made/at/first/put"};
  };
  const auto both = std::make_shared<Both>();
  return {both, &both->store};
}

// Returns an S3Store over a fake service in which kFaultPercent percent of the requests fail.
template <int kFaultPercent>
std::shared_ptr<ObjectStore> S3StoreOnAFake() {
  struct All {
    FakeS3 service;
    FaultyTransport network{service, kFaultPercent, /*seed=*/11};
    FakeClock clock;
    std::unique_ptr<S3Store> store;
  };
  const auto all = std::make_shared<All>();
  const std::shared_ptr<http::Transport> network(std::shared_ptr<void>(), &all->network);
  auto client = std::make_shared<S3Client>(
      network, MakeFixedSource({.access_key_id = "AKID", .secret_access_key = telemetry::Secret("secret")}),
      S3ClientOptions{.clock = &all->clock, .now = [] { return WallTime(std::chrono::seconds(1'800'000'000)); }});
  all->store = std::make_unique<S3Store>(std::move(client), FakeS3::Bucket(), "root");
  return {all, all->store.get()};
}

INSTANTIATE_TEST_SUITE_P(Drivers, ObjectStoreSuite,
                         ::testing::Values(StoreCase{"Memory", [] { return std::make_shared<MemoryStore>(); }},
                                           StoreCase{"File", FileStoreInNewFolder}, StoreCase{"S3", S3StoreOnAFake<0>},
                                           StoreCase{"S3OnABadDay", S3StoreOnAFake<30>}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace espalier::storage
