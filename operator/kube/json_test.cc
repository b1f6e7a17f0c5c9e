// Tests the limits of the JSON parser, the dropping of managedFields, and access by paths.
#include "operator/kube/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace espalier::ctl::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string ErrorOf(std::string_view text) {
  const Result<Json> json = ParseJson(text);
  return json.ok() ? "ok" : json.status().ToString();
}

Json Parsed(std::string_view text, ManagedFields managed_fields = ManagedFields::kKeep) {
  const Result<Json> json = ParseJson(text, managed_fields);
  EXPECT_TRUE(json.ok()) << json.status().ToString();
  return json.ok() ? *json : Json();
}

TEST(JsonTest, RoundTrips) {
  const std::string text = R"({"a":[1,-2,2.5,true,null,"\"é\n"],"b":{"c":{}},"d":18446744073709551615})";
  EXPECT_EQ(Print(Parsed(text)), text);
  EXPECT_EQ(Print(Parsed(" 3 ")), "3");
}

TEST(JsonTest, PrintsEqualValuesAlike) { EXPECT_EQ(Print(Parsed(R"({"b":1,"a":2})")), R"({"a":2,"b":1})"); }

TEST(JsonTest, ErrorsNamePositionWithoutText) {
  EXPECT_EQ(ErrorOf(R"({"token": hunter2})"), "INVALID_ARGUMENT: not JSON at byte 11");
  for (const char* text :
       {"", "{", "[1,]", "{\"a\":1,}", "{'a':1}", "[1] 2", "nul", "\"\x01\"", "\"\xff\"", "1e999", "01"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("not JSON at byte")) << text;
  }
}

TEST(JsonTest, RefusesDeepNestingWithoutRecursion) {
  EXPECT_EQ(ErrorOf(Repeated("[", 100) + Repeated("]", 100)), "ok");
  EXPECT_THAT(ErrorOf(Repeated("[", 101) + Repeated("]", 101)), HasSubstr("nests deeper than 100 levels"));
  EXPECT_THAT(ErrorOf(Repeated("{\"a\":", 1'000'000)), HasSubstr("nests deeper than 100 levels"));
}

// One object of a list nests too deep; with 100,000 levels, a recursive parser would overflow the stack.
TEST(JsonTest, TooDeepObjectDoesNotAffectOthers) {
  const auto object_of = [](const std::string& name, const std::string& spec) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":)" + spec + R"(,"tail":1})";
  };
  const auto nested = [](int levels) { return Repeated("{\"a\":[", levels) + Repeated("]}", levels); };
  for (const int levels : {60, 100'000}) {
    const std::string text = R"({"items":[)" + object_of("a", "{}") + "," + object_of("b", nested(levels)) + "," +
                             object_of("c", nested(40)) + R"(],"metadata":{"resourceVersion":"7"}})";
    const Result<Json> list = ParseObjects(text, ObjectsIn::kList);
    ASSERT_TRUE(list.ok()) << list.status().ToString();
    EXPECT_EQ(StringAt(*list, {"metadata", "resourceVersion"}), "7");
    const Json& items = ListAt(*list, {"items"});
    ASSERT_EQ(items.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(NestsTooDeep(items[i]), i == 1) << i;
      EXPECT_EQ(StringAt(items[i], {"metadata", "name"}), std::string(1, static_cast<char>('a' + i)));
      EXPECT_EQ(IntegerAt(items[i], {"tail"}), 1);
    }
    EXPECT_FALSE(NestsTooDeep(*list));
    const Result<Json> event =
        ParseObjects(R"({"type":"ADDED","object":)" + object_of("b", nested(levels)) + "}", ObjectsIn::kEvent);
    ASSERT_TRUE(event.ok()) << event.status().ToString();
    EXPECT_TRUE(NestsTooDeep((*event)["object"]));
    EXPECT_TRUE(NestsTooDeep(*ParseObjects(object_of("b", nested(levels)), ObjectsIn::kRoot)));
  }
  EXPECT_TRUE(ParseObjects(Repeated("[", 1000) + Repeated("]", 1000), ObjectsIn::kList).ok()) << "nothing to mark";
}

TEST(JsonTest, RefusesMoreValuesThanFitInMemory) {
  EXPECT_THAT(ErrorOf("[" + Repeated("0,", 2 << 20) + "0]"), HasSubstr("more than 2097152 values"));
}

TEST(JsonTest, RefusesTextThatIsTooLong) {
  EXPECT_THAT(ErrorOf("1" + std::string(kMaxJsonBytes, ' ')), HasSubstr("expected at most 67108864"));
}

TEST(JsonTest, LastOfEqualKeysWins) { EXPECT_EQ(Print(Parsed(R"({"a":{"x":1},"a":[2]})")), R"({"a":[2]})"); }

TEST(JsonTest, DropsManagedFieldsWhileParsing) {
  const std::string text =
      R"({"items":[{"metadata":{"managedFields":[{"fieldsV1":{"f:metadata":{"a":[1,{"b":2}]}}}],"name":"x"},"managedFields":1}],)"
      R"("metadata":{"managedFields":null,"resourceVersion":"7"}})";
  EXPECT_EQ(Print(Parsed(text, ManagedFields::kDrop)),
            R"({"items":[{"managedFields":1,"metadata":{"name":"x"}}],"metadata":{"resourceVersion":"7"}})");
  EXPECT_THAT(Print(Parsed(text)), HasSubstr("fieldsV1"));
}

TEST(JsonTest, CountsDroppedLevelsToo) {
  const std::string text = R"({"metadata":{"managedFields":)" + Repeated("[", 99) + Repeated("]", 99) + "}}";
  EXPECT_EQ(ParseJson(text, ManagedFields::kDrop).status().code(), StatusCode::kInvalidArgument);
}

TEST(JsonTest, DroppedKeyEndsWithItsValue) {
  EXPECT_EQ(Print(Parsed(R"({"metadata":{"managedFields":{"metadata":{}},"labels":{"managedFields":"mine"}}})",
                         ManagedFields::kDrop)),
            R"({"metadata":{"labels":{"managedFields":"mine"}}})");
  EXPECT_EQ(Print(Parsed(R"([{"metadata":1},{"managedFields":1}])", ManagedFields::kDrop)),
            R"([{"metadata":1},{"managedFields":1}])");
}

TEST(JsonTest, PrintsBrokenTextWithReplacements) {
  EXPECT_EQ(Print(Json("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(Print(Json(std::numeric_limits<double>::infinity())), "null");
}

TEST(JsonTest, FindsByPath) {
  const Json json = Parsed(R"({"a":{"b":{"c":1,"n":null}},"l":[1]})");
  ASSERT_NE(Find(json, {"a", "b", "c"}), nullptr);
  EXPECT_EQ(*Find(json, {"a", "b", "c"}), 1);
  EXPECT_EQ(Find(json, {}), &json);
  EXPECT_NE(Find(json, {"a", "b", "n"}), nullptr) << "null is something";
  for (const JsonPath& path : {JsonPath{"x"}, {"a", "x"}, {"a", "b", "c", "d"}, {"l", "0"}, {"a", "b", "n", "x"}}) {
    EXPECT_EQ(Find(json, path), nullptr);
  }
}

TEST(JsonTest, ReturnsNothingForOtherTypes) {
  const Json json = Parsed(R"({"text":"x","number":1,"yes":true,"list":[1],"null":null})");
  EXPECT_EQ(StringAt(json, {"text"}), "x");
  EXPECT_TRUE(BoolAt(json, {"yes"}));
  EXPECT_EQ(ListAt(json, {"list"}).size(), 1u);
  for (const char* key : {"number", "yes", "list", "null", "absent"}) EXPECT_EQ(StringAt(json, {key}), "") << key;
  for (const char* key : {"text", "number", "list", "null", "absent"}) EXPECT_FALSE(BoolAt(json, {key})) << key;
  for (const char* key : {"text", "number", "yes", "null", "absent"}) EXPECT_TRUE(ListAt(json, {key}).empty()) << key;
  for (const char* key : {"text", "yes", "list", "null", "absent"})
    EXPECT_EQ(IntegerAt(json, {key}), std::nullopt) << key;
}

TEST(JsonTest, ReadsIntegersInAnyNotation) {
  const auto integer = [](const char* text) { return IntegerAt(Parsed(text), {}); };
  EXPECT_EQ(integer("-3"), -3);
  EXPECT_EQ(integer("3.0"), 3);
  EXPECT_EQ(integer("3e2"), 300);
  EXPECT_EQ(integer("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(integer("9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const char* text : {"9223372036854775808", "9.3e18", "-1e300", "1e300", "3.5", "\"3\""}) {
    EXPECT_EQ(integer(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace espalier::ctl::kube
