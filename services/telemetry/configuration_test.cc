#include "services/telemetry/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "CLI/CLI.hpp"

namespace espalier::telemetry {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class ToFieldsTest : public ::testing::Test {
 protected:
  ToFieldsTest() {
    app_.set_version_flag("--version", "1");
    app_.add_option("-j,--job-file", job_file_);
    app_.add_option("--threads", threads_)->capture_default_str();
    app_.add_option("--servers", servers_)->delimiter(',');
    app_.add_option("--cache-size", cache_bytes_)->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
    app_.add_flag("--quick", quick_);
  }

  // Parses the command line and returns all fields by key. Their values must be text.
  std::map<std::string, std::string> ParseToFields(const std::string& command_line, std::vector<Field> overrides = {}) {
    app_.parse(command_line, false);
    std::map<std::string, std::string> texts;
    for (const Field& field : ToFields(app_, std::move(overrides))) {
      EXPECT_TRUE(texts.emplace(field.key, std::get<std::string>(field.value.variant())).second) << field.key;
    }
    return texts;
  }

  CLI::App app_;
  std::string job_file_;
  int threads_ = 4;
  std::vector<std::string> servers_;
  uint64_t cache_bytes_ = 0;
  bool quick_ = false;
};

TEST_F(ToFieldsTest, UnsetOptionsHaveDefaults) {
  EXPECT_THAT(ParseToFields(""), UnorderedElementsAre(Pair("job_file", ""), Pair("threads", "4"), Pair("servers", ""),
                                                      Pair("cache_size", ""), Pair("quick", "false")));
}

TEST_F(ToFieldsTest, SetOptionsHaveTheirValues) {
  EXPECT_THAT(ParseToFields("-j job.yaml --threads 2 --servers a:1,b:2 --quick"),
              UnorderedElementsAre(Pair("job_file", "job.yaml"), Pair("threads", "2"), Pair("servers", "a:1,b:2"),
                                   Pair("cache_size", ""), Pair("quick", "true")));
}

TEST_F(ToFieldsTest, KnownFieldsReplaceOptions) {
  EXPECT_THAT(ParseToFields("--threads 0", {{"threads", "16"}, {"key", "0123abcd"}}),
              UnorderedElementsAre(Pair("job_file", ""), Pair("threads", "16"), Pair("servers", ""),
                                   Pair("cache_size", ""), Pair("quick", "false"), Pair("key", "0123abcd")));
}

TEST(OneLineTest, KeepsFieldsInOrder) {
  EXPECT_EQ(OneLine("{\n  \"kind\": \"Two  spaces\",\n  \"epochs\": [\n    1\n  ]\n}\n"),
            R"({"kind":"Two  spaces","epochs":[1]})");
  EXPECT_EQ(OneLine("kind: YAML\n"), "kind: YAML\n");
}

}  // namespace
}  // namespace espalier::telemetry
