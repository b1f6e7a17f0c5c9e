#include "operator/kube/watch_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(WatchEventTest, ParsesFiveTypes) {
  const std::pair<const char*, WatchEventType> rows[] = {{"ADDED", WatchEventType::kAdded},
                                                         {"MODIFIED", WatchEventType::kModified},
                                                         {"DELETED", WatchEventType::kDeleted},
                                                         {"BOOKMARK", WatchEventType::kBookmark},
                                                         {"ERROR", WatchEventType::kError}};
  for (const auto& [name, type] : rows) {
    const Result<WatchEvent> event =
        ParseWatchEvent(std::string(R"({"type":")") + name + R"(","object":{"metadata":{"resourceVersion":"7"}}})");
    ASSERT_TRUE(event.ok()) << event.status().ToString();
    EXPECT_EQ(event->type, type);
    EXPECT_EQ(StringAt(event->object, {"metadata", "resourceVersion"}), "7");
  }
}

TEST(WatchEventTest, DropsManagedFields) {
  const Result<WatchEvent> event =
      ParseWatchEvent(R"({"type":"ADDED","object":{"metadata":{"name":"x","managedFields":[{}]}}})");
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(Print(event->object), R"({"metadata":{"name":"x"}})");
}

TEST(WatchEventTest, RefusesOtherLinesWithoutQuotingThem) {
  for (const char* line :
       {"", "secret", "1f4", "null", "[]", "{}", R"({"type":"ADDED"})", R"({"type":"SECRET","object":{}})",
        R"({"type":1,"object":{}})", R"({"type":"ADDED","object":"secret"})", R"({"type":"ADDED","object":null})",
        R"({"type":"ADDED","object":{"a":"secret")", R"({"type":"ADDED","object":{}}{"type":"ADDED","object":{}})"}) {
    const Status status = ParseWatchEvent(line).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(status.message(), HasSubstr("a watch event")) << line;
    EXPECT_THAT(status.message(), Not(HasSubstr("secret"))) << line;
  }
}

}  // namespace
}  // namespace espalier::ctl::kube
