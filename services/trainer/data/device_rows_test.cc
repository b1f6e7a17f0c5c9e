#include "services/trainer/data/device_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/trainer/testing/devices.h"

namespace espalier::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

torch::Tensor RowsWith(const std::vector<float>& values) { return torch::tensor(values).unsqueeze(1).expand({-1, 3}); }

// The second step reads slot 1 before another row replaces the row there.
TEST(RowSlotsTest, ReadsRowsFromSlotsBeforeItStoresOthers) {
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);  // as in training
  for (const torch::Device& device : TestDevices()) {
    RowSlots slots({2, 3}, torch::dtype(torch::kFloat).device(device));
    sampler::SlotPlan first;
    first.missing_places = {0, 1, 2};
    first.stored_rows = {2, 0};
    first.stored_slots = {0, 1};
    EXPECT_TRUE(torch::equal(slots.Apply(first, RowsWith({5, 6, 7})).cpu(), RowsWith({5, 6, 7})));
    sampler::SlotPlan second;
    second.hit_places = {1, 2};
    second.hit_slots = {1, 0};
    second.missing_places = {0, 3};
    second.stored_rows = {1};
    second.stored_slots = {1};
    const torch::Tensor rows = slots.Apply(second, RowsWith({8, 9}));
    EXPECT_EQ(rows.device(), device);
    EXPECT_TRUE(torch::equal(rows.cpu(), RowsWith({8, 5, 7, 9})));
    sampler::SlotPlan third;
    third.hit_places = {0, 1, 2};
    third.hit_slots = {1, 0, 1};
    EXPECT_TRUE(torch::equal(slots.Apply(third, torch::empty({0, 3})).cpu(), RowsWith({9, 7, 9})));
    EXPECT_EQ(slots.Apply({}, torch::empty({0, 3})).sizes(), (torch::IntArrayRef{0, 3}));
  }
}

TEST(RowSlotsTest, HoldsOriginalIds) {
  RowSlots slots({1}, torch::dtype(torch::kInt64));
  sampler::SlotPlan first;
  first.missing_places = {0, 1};
  first.stored_rows = {1};
  first.stored_slots = {0};
  slots.Apply(first, torch::tensor({int64_t{70}, int64_t{80}}));
  sampler::SlotPlan second;
  second.hit_places = {0};
  second.hit_slots = {0};
  EXPECT_TRUE(torch::equal(slots.Apply(second, torch::empty({0}, torch::kInt64)), torch::tensor({int64_t{80}})));
}

// A node type with the columns x, f32 [width], and y. Rows cannot be read.
class UnreadRows final : public sampler::RowSource {
 public:
  explicit UnreadRows(int64_t width)
      : columns_({{NodeTypeId(0), "x", DType::kF32, {width}}, {NodeTypeId(0), "y", DType::kI64, {}}}) {}

  const std::vector<sampler::ColumnDescription>& columns() const override { return columns_; }
  Result<Tensor> GatherRows(NodeTypeId, const std::string&, std::span<const GlobalNodeId>, Deadline) override {
    return Unimplemented("this test reads no rows");
  }

 private:
  const std::vector<sampler::ColumnDescription> columns_;
};

Result<std::unique_ptr<DeviceRows>> MakeDeviceRows(uint64_t memory_bytes, uint64_t num_nodes, int64_t width) {
  const graph::GraphSchema schema = *graph::GraphSchema::Make({"n"}, {{"n", "e", "n"}});
  const graph::PartitionBook book = *graph::PartitionBook::Make(schema, {{0, num_nodes}}, {{0, 0}});
  job::Training training;
  training.inputs = {{"", {"x"}}};
  training.task.label = "y";
  UnreadRows rows(width);
  return DeviceRows::Make(memory_bytes, book, *NodeData::Make(training, schema, rows), torch::kCPU);
}

TEST(DeviceRowsTest, AllocatesAtMostTheMemoryAndOneSlotForEachNode) {
  EXPECT_EQ((*MakeDeviceRows(uint64_t{1} << 30, 100, 8))->memory_bytes(), 3200u);
  EXPECT_EQ((*MakeDeviceRows(1000, 100, 8))->memory_bytes(), 992u);
  EXPECT_EQ((*MakeDeviceRows(31, 100, 8))->memory_bytes(), 0u);
}

// No address space is large enough.
TEST(DeviceRowsTest, NamesTheFieldIfTheMemoryIsTooSmall) {
  const uint64_t num_nodes = uint64_t{1} << 31;
  const int64_t width = int64_t{1} << 20;
  const Status status = MakeDeviceRows(uint64_t{1} << 60, num_nodes, width).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), StartsWith("spec.trainers.featureCache.deviceMemory: cannot allocate " +
                                           std::to_string(uint64_t{1} << 53) + " bytes on cpu: "));
  EXPECT_THAT(status.message(), HasSubstr("; set a smaller deviceMemory"));
}

}  // namespace
}  // namespace espalier::trainer
