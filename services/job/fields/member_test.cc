#include "services/job/fields/member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::job {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

struct Wheel {
  double radius = 2;
  double pressure = 0.5;
};

struct Engine {
  uint64_t memory_bytes = 0;
};

struct Car {
  bool open = true;
  int32_t doors = 4;
  std::chrono::seconds age{9};
  std::string name;
  std::string color = "red";
  Device device = Device::kCpu;
  std::optional<int32_t> seats;
  std::vector<Metric> metrics = {Metric::kMrr};
  std::vector<std::string> drivers;
  Engine engine;
  std::vector<Wheel> wheels;
  std::optional<Wheel> spare;
};

struct Types {
  FieldType type;
  bool is_list;
  friend bool operator==(const Types&, const Types&) = default;
};

Types DescribeTypes(const Member& member) { return {member.type(), member.is_list()}; }

TEST(MemberTest, HasTheFieldTypeOfItsType) {
  EXPECT_EQ(DescribeTypes(&Car::open), (Types{FieldType::kBool, false}));
  EXPECT_EQ(DescribeTypes(&Car::doors), (Types{FieldType::kInteger, false}));
  EXPECT_EQ(DescribeTypes(&Car::age), (Types{FieldType::kInteger, false}));
  EXPECT_EQ(DescribeTypes(&Wheel::radius), (Types{FieldType::kNumber, false}));
  EXPECT_EQ(DescribeTypes(&Car::name), (Types{FieldType::kString, false}));
  EXPECT_EQ(DescribeTypes(&Car::device), (Types{FieldType::kEnum, false}));
  EXPECT_EQ(DescribeTypes(&Car::seats), (Types{FieldType::kInteger, false}));
  EXPECT_EQ(DescribeTypes(&Car::metrics), (Types{FieldType::kEnum, true}));
  EXPECT_EQ(DescribeTypes(&Car::engine), (Types{FieldType::kObject, false}));
  EXPECT_EQ(DescribeTypes(&Car::wheels), (Types{FieldType::kObject, true}));
  EXPECT_EQ(DescribeTypes(&Car::spare), (Types{FieldType::kObject, false}));
  EXPECT_FALSE(Member().exists());
}

TEST(MemberTest, NamesTheValuesOfItsEnum) {
  EXPECT_THAT(Member(&Car::device).names(), ElementsAre("Auto", "CPU", "CUDA"));
  EXPECT_THAT(Member(&Car::doors).names(), IsEmpty());
}

TEST(MemberTest, HasItsInitialValueAsInTheDocument) {
  EXPECT_EQ(Member(&Car::open).initial().dump(), "true");
  EXPECT_EQ(Member(&Car::doors).initial().dump(), "4");
  EXPECT_EQ(Member(&Car::age).initial().dump(), "9");
  EXPECT_EQ(Member(&Wheel::radius).initial().dump(), "2") << "a whole number has no fraction";
  EXPECT_EQ(Member(&Wheel::pressure).initial().dump(), "0.5");
  EXPECT_EQ(Member(&Car::name).initial().dump(), "null");
  EXPECT_EQ(Member(&Car::color).initial().dump(), R"("red")");
  EXPECT_EQ(Member(&Car::device).initial().dump(), R"("CPU")");
  EXPECT_EQ(Member(&Car::seats).initial().dump(), "null");
  EXPECT_EQ(Member(&Car::metrics).initial().dump(), R"(["MRR"])");
  EXPECT_EQ(Member(&Car::drivers).initial().dump(), "[]");
  EXPECT_EQ(Member(&Car::wheels).initial().dump(), "null");
  EXPECT_EQ(Member(&Car::engine, &Engine::memory_bytes).initial().dump(), "0");
}

TEST(MemberTest, IsSetToAValueOfTheDocument) {
  Car car;
  const auto set = [&](const Member& member, const Json& value) { member.Set(value, AnyStruct::Of(&car)); };
  set(&Car::age, 30);
  set(&Car::name, "beetle");
  set(&Car::device, "CUDA");
  set(&Car::seats, 5);
  set(&Car::metrics, {"Accuracy", "HitsAtK"});
  set({&Car::engine, &Engine::memory_bytes}, "2Ki");
  EXPECT_EQ(car.age, std::chrono::seconds(30));
  EXPECT_EQ(car.name, "beetle");
  EXPECT_EQ(car.device, Device::kCuda);
  EXPECT_EQ(car.seats, 5);
  EXPECT_THAT(car.metrics, ElementsAre(Metric::kAccuracy, Metric::kHitsAtK)) << "the initial items are replaced";
  EXPECT_EQ(car.engine.memory_bytes, 2048u);
}

TEST(MemberTest, OpensTheStructOfAnObject) {
  Car car;
  const AnyStruct owner = AnyStruct::Of(&car);
  EXPECT_EQ(Member(&Car::engine).Open(owner).at, &car.engine);
  Member(&Wheel::radius).Set(7, Member(&Car::spare).Open(owner));
  EXPECT_EQ(car.spare.value().radius, 7);
  for (const double radius : {8.0, 9.0}) Member(&Wheel::radius).Set(radius, Member(&Car::wheels).Open(owner));
  ASSERT_EQ(car.wheels.size(), 2u);
  EXPECT_EQ(car.wheels[0].radius, 8);
  EXPECT_EQ(car.wheels[1].radius, 9);
}

TEST(MemberDeathTest, RefusesAnotherStruct) {
  Engine engine;
  EXPECT_DEATH(Member(&Car::doors).Set(2, AnyStruct::Of(&engine)), "expected a struct .*Car.*, found .*Engine");
}

}  // namespace
}  // namespace espalier::job
