#include "services/trainer/model/module_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "services/collective/in_process_collective.h"
#include "services/storage/memory_store.h"

namespace espalier::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

storage::StoreLocation StoreWith(const std::string& archive) {
  auto store = std::make_shared<storage::MemoryStore>();
  EXPECT_TRUE(store->PutIfAbsent("model.pt", std::as_bytes(std::span<const char>(archive))).ok());
  return {store, "model.pt"};
}

// Returns the status of each rank; rank i reads files[i].
std::vector<Status> ReadByRanks(const std::vector<storage::StoreLocation>& files) {
  job::Training training;
  training.model.type = job::ModelType::kTorchScript;
  auto ranks = collective::MakeInProcessGroup(static_cast<uint32_t>(files.size()));
  std::vector<Status> statuses(files.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < files.size(); ++rank) {
    threads.emplace_back([&, rank] {
      statuses[rank] = ReadJobModule(training, files[rank], *ranks[rank], std::chrono::seconds(60)).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

TEST(ModuleFileTest, RanksRequireSameBytes) {
  for (const Status& status : ReadByRanks({StoreWith("one"), StoreWith("one")})) EXPECT_TRUE(status.ok());
  const std::vector<Status> statuses = ReadByRanks({StoreWith("one"), StoreWith("one"), StoreWith("another")});
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("spec.training.model.uri"),
                                        HasSubstr("trainers read different modules"), HasSubstr("model.pt")));
  }
}

TEST(ModuleFileTest, ReadErrorOfOneRankEndsAll) {
  const std::vector<Status> statuses =
      ReadByRanks({StoreWith("one"), {std::make_shared<storage::MemoryStore>(), "model.pt"}});
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    EXPECT_THAT(status.message(), HasSubstr("reading the module in"));
  }
}

}  // namespace
}  // namespace espalier::trainer
