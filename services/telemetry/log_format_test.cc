#include "services/telemetry/log_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace espalier::telemetry {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

struct NodeTag;
using NodeId = StrongId<NodeTag, uint32_t>;

// 2026-01-02T05:12:31.120Z
const std::chrono::system_clock::time_point kTime{milliseconds(1'767'330'751'120)};

std::string Json(const std::vector<Field>& fields, const std::vector<Field>& process = {}) {
  return FormatJson({kTime, Level::kInfo, "partition loaded", process, fields});
}
std::string Text(const std::vector<Field>& fields, const std::vector<Field>& process = {}) {
  return FormatText({kTime, Level::kWarning, "partition loaded", process, fields});
}

TEST(LogFormatTest, JsonHasTimeLevelMessageAndTypedFields) {
  const auto line = nlohmann::json::parse(Json({{"edges", uint64_t{1} << 63},
                                                {"node", NodeId(7)},
                                                {"ok", true},
                                                {"seconds", 0.25},
                                                {"offset", -3},
                                                {"name", "cora"}},
                                               {{"role", "server"}, {"partition", 1}}));

  EXPECT_EQ(line["time"], "2026-01-02T05:12:31.120Z");
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["role"], "server");
  EXPECT_EQ(line["partition"], 1);
  EXPECT_EQ(line["message"], "partition loaded");
  EXPECT_EQ(line["edges"], uint64_t{1} << 63);
  EXPECT_EQ(line["node"], 7);
  EXPECT_EQ(line["ok"], true);
  EXPECT_EQ(line["seconds"], 0.25);
  EXPECT_EQ(line["offset"], -3);
}

TEST(LogFormatTest, JsonSurvivesAnyBytes) {
  const std::string line =
      Json({{"bytes", std::string("a\nb\xff\0", 5)}, {"nan", std::numeric_limits<double>::quiet_NaN()}});

  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_EQ(nlohmann::json::parse(line)["nan"], "nan");
}

TEST(LogFormatTest, TextIsOneReadableLine) {
  EXPECT_EQ(Text({{"partition", 1}, {"path", "a b"}, {"empty", ""}, {"seconds", 1.5}}, {{"role", "server"}}),
            "05:12:31 WARN  partition loaded role=server partition=1 path=\"a b\" empty=\"\" seconds=1.5");
  EXPECT_EQ(Text({{"x", "a\nERROR fake\x1b[0m"}}), "05:12:31 WARN  partition loaded x=\"a\\nERROR fake\\x1b[0m\"");
}

TEST(LogFormatTest, AFieldReplacesTheProcessFieldOfItsName) {
  EXPECT_EQ(Text({{"rank", 2}}, {{"rank", 1}}), "05:12:31 WARN  partition loaded rank=2");
  EXPECT_EQ(nlohmann::json::parse(Json({{"rank", 2}}, {{"rank", 1}}))["rank"], 2);
}

TEST(LogFormatTest, SecretsPrintAsStars) {
  const Secret key("hunter2");

  EXPECT_EQ(Text({{"key", key}}), "05:12:31 WARN  partition loaded key=***");
  EXPECT_THAT(Json({{"key", key}}), Not(HasSubstr("hunter2")));
  EXPECT_EQ(key.Reveal(), "hunter2");
}

TEST(LogFormatTest, ReadsTheFlag) {
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_EQ(*ParseLogFormat("auto"), LogFormat::kAuto);
  EXPECT_THAT(ParseLogFormat("xml").status().message(), HasSubstr("expected auto, text or json"));
}

}  // namespace
}  // namespace espalier::telemetry
