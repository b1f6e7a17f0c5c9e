#include "operator/schema/yaml_text.h"

#include <gtest/gtest.h>

#include "operator/client/yaml_json.h"

namespace espalier::ctl::schema {
namespace {

using OrderedJson = nlohmann::ordered_json;

TEST(YamlTextTest, PrintsLiteralBlocks) {
  EXPECT_EQ(ToYaml({{"name", "a"}, {"list", {{{"x", 1}, {"b", {"p", "q"}}}, "z"}}, {"none", OrderedJson::object()}}),
            "name: a\n"
            "list:\n"
            "- x: 1\n"
            "  b:\n"
            "  - p\n"
            "  - q\n"
            "- z\n"
            "none: {}\n");
  EXPECT_EQ(ToYaml("a"), "a\n");
}

TEST(YamlTextTest, RoundTrips) {
  const OrderedJson value = {{"texts",
                              {"",
                               " a",
                               "a ",
                               "no",
                               "y",
                               "null",
                               "~",
                               "1",
                               "1_000",
                               "0x10",
                               "1:30",
                               "2024-01-01",
                               ".5",
                               "-",
                               "- a",
                               "a: b",
                               "a #b",
                               "#a",
                               "'",
                               "it's",
                               "\"",
                               "\\d+",
                               "a\nb",
                               "a\tb",
                               "[a]",
                               "{a}",
                               "&a",
                               "*a",
                               "!a",
                               "|",
                               ">",
                               "%",
                               "@",
                               "`",
                               ",a",
                               "?a",
                               "a: 'b' \"c\" \\",
                               "\xc3\xa9",
                               "=",
                               "<<",
                               ".spec.replicas"}},
                             {"numbers", {0, -1, 0.5, 1e-9, 9223372036854775807}},
                             {"booleans", {true, false}},
                             {"nothing", nullptr},
                             {"empty", {OrderedJson::array(), OrderedJson::object()}},
                             {"no", {{"on", {{"1", "a"}}}}},
                             {"nested", {{{{"a", {{"b", OrderedJson::array({OrderedJson::array({1, 2}), 3})}}}}}}}};
  const Result<kube::Json> read = client::ParseYamlOrJson(ToYaml(value));
  ASSERT_TRUE(read.ok()) << read.status().ToString() << "\n" << ToYaml(value);
  EXPECT_EQ(*read, kube::Json::parse(value.dump())) << ToYaml(value);
}

}  // namespace
}  // namespace espalier::ctl::schema
