#include "services/runner/run/store_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace espalier::run {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// A store whose Head returns what the test has set. Other functions are not used.
class AnsweringStore final : public storage::ObjectStore {
 public:
  explicit AnsweringStore(Status answer) : answer_(std::move(answer)) {}

  std::string Describe() const override { return "test"; }
  Result<storage::ObjectInfo> Head(const std::string& key) override {
    asked_.push_back(key);
    if (!answer_.ok()) return answer_;
    return storage::ObjectInfo{.key = key};
  }
  const std::vector<std::string>& requested() const { return asked_; }

  Result<std::string> Get(const std::string&) override { return Unexpected(); }
  Result<std::string> GetRange(const std::string&, storage::ByteRange) override { return Unexpected(); }
  Result<std::unique_ptr<storage::ObjectWriter>> Put(const std::string&) override { return Unexpected(); }
  Status PutIfAbsent(const std::string&, std::span<const std::byte>) override { return Unexpected(); }
  Result<std::vector<storage::ObjectInfo>> List(const std::string&) override { return Unexpected(); }
  Status Delete(const std::string&) override { return Unexpected(); }
  std::optional<std::string> LocalPath(const std::string&) override { return std::nullopt; }

 private:
  static Status Unexpected() { return Internal("a probe asks for more than Head"); }

  const Status answer_;
  std::vector<std::string> asked_;
};

class StoreProbeTest : public ::testing::Test {
 protected:
  StoreProbeTest() {
    job_.graph.source.uri = "s3://graphs/cora";
    job_.graph.partitions.uri = "s3://bucket/x/partitions";
    job_.output_uri = "s3://bucket/x";
  }
  void Let(const std::string& uri, Status answer) { stores_[uri] = std::make_shared<AnsweringStore>(answer); }
  StoreProbe Probe() {
    return StoreProbe(job_, [this](const std::string& uri) -> Result<storage::StoreLocation> {
      opened_.push_back(uri);
      if (!stores_.contains(uri)) return InvalidArgument("no such store");
      return storage::StoreLocation{stores_[uri], "below"};
    });
  }

  job::DistTraining job_;
  std::map<std::string, std::shared_ptr<AnsweringStore>> stores_;
  std::vector<std::string> opened_;
};

TEST_F(StoreProbeTest, ProbesGraphPartitionsAndOutputs) {
  for (const char* uri : {"s3://graphs/cora", "s3://bucket/x/partitions", "s3://bucket/x"}) Let(uri, Status());
  EXPECT_TRUE(Probe().Check().ok());
  EXPECT_THAT(opened_, UnorderedElementsAre("s3://graphs/cora", "s3://bucket/x/partitions", "s3://bucket/x"));
  for (const auto& [uri, store] : stores_) EXPECT_THAT(store->requested(), ElementsAre("below/manifest.json")) << uri;
}

TEST_F(StoreProbeTest, NamesUnreachableStore) {
  Let("s3://bucket/x", Status());
  for (const Status& away : {Unavailable("connection refused"), DeadlineExceeded("too slow")}) {
    Let("s3://graphs/cora", away);
    EXPECT_EQ(Probe().Check().ToString(), away.ToString());
  }
}

TEST_F(StoreProbeTest, RefusalCountsAsReachable) {
  Let("s3://bucket/x", NotFound("there is no object"));
  Let("s3://graphs/cora", Status(StatusCode::kPermissionDenied, "no"));
  Let("s3://bucket/x/partitions", FailedPrecondition("no such bucket"));
  EXPECT_TRUE(Probe().Check().ok());
}

TEST_F(StoreProbeTest, SkipsInvalidAndMissingStores) {
  EXPECT_TRUE(Probe().Check().ok());
  job_ = {};
  opened_.clear();
  EXPECT_TRUE(Probe().Check().ok());
  EXPECT_TRUE(opened_.empty());
}

}  // namespace
}  // namespace espalier::run
