#include "operator/client/yaml_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/base64.h"

namespace espalier::ctl::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string AsJson(const std::string& text) {
  const Result<kube::Json> json = ParseYamlOrJson(text);
  return json.ok() ? kube::Print(*json) : json.status().ToString();
}

TEST(YamlJsonTest, ReadsScalarsAsJsonWritesThem) {
  EXPECT_EQ(AsJson("[1, -2, 1.5, true, null, ~, '1', \"true\", no, 0x1f, 1_000, 007, abc]"),
            R"([1,-2,1.5,true,null,null,"1","true","no","0x1f","1_000","007","abc"])");
  EXPECT_EQ(AsJson("99999999999999999999"), "1e+20");
  EXPECT_EQ(AsJson("1e999"), "\"1e999\"");
  EXPECT_EQ(AsJson(""), "null");
}

TEST(YamlJsonTest, ReadsBlocksAndAliases) {
  EXPECT_EQ(AsJson("a: &x\n  b: [1]\nc: *x\nd: |\n  two\n  lines\n"),
            R"({"a":{"b":[1]},"c":{"b":[1]},"d":"two\nlines\n"})");
}

TEST(YamlJsonTest, ReadsJsonThatIsNoYaml) {
  EXPECT_EQ(AsJson("{\n\t\"a\":\t\"\\/\\ud83c\\udf33\"}"), "{\"a\":\"/\xf0\x9f\x8c\xb3\"}");
}

TEST(YamlJsonTest, ReadsYamlThatBeginsWithABrace) { EXPECT_EQ(AsJson("{a: b}"), R"({"a":"b"})"); }

TEST(YamlJsonTest, ErrorsNameLineWithoutText) {
  EXPECT_THAT(AsJson("a: 1\nb: [hunter2\n"), HasSubstr("INVALID_ARGUMENT: line"));
  for (const char* text : {"a: [hunter2", "a: !!binary hunter2", "a: *hunter", "{\"a\": \"hunter2",
                           "a: hunter2\na: hunter2", "[hunter2]: 1", "? {a: hunter2}\n: 1", "a: \"\\xZZhunter2\""}) {
    EXPECT_THAT(AsJson(text), HasSubstr("INVALID_ARGUMENT: line")) << text;
    EXPECT_THAT(AsJson(text), Not(HasSubstr("hunter2"))) << text;
  }
}

TEST(YamlJsonTest, BoundsDepthAndSize) {
  EXPECT_THAT(AsJson(std::string(100'000, '[')), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(AsJson(std::string(kMaxYamlBytes + 1, 'a')), HasSubstr("INVALID_ARGUMENT"));
}

}  // namespace
}  // namespace espalier::ctl::client
