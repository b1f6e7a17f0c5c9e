#include "operator/client/transport.h"

#include <gtest/gtest.h>

namespace espalier::ctl::client {
namespace {

TEST(HttpResponseTest, FindsHeadersIgnoringCase) {
  const HttpResponse response{200, {{"Content-Type", "application/json"}, {"RETRY-AFTER", "3"}}, ""};
  EXPECT_EQ(response.Header("content-type"), "application/json");
  EXPECT_EQ(response.Header("Retry-After"), "3");
  EXPECT_EQ(response.Header("Retry"), "");
  EXPECT_EQ(response.Header(""), "");
}

}  // namespace
}  // namespace espalier::ctl::client
