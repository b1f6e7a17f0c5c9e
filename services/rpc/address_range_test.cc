#include "services/rpc/address_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::rpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AddressRangeTest, ExpandsToAddressesInOrder) {
  EXPECT_THAT(*ExpandAddresses({"a:1", "s-[9-11].svc:7000", "b:2"}),
              ElementsAre("a:1", "s-9.svc:7000", "s-10.svc:7000", "s-11.svc:7000", "b:2"));
  EXPECT_THAT(*ExpandAddresses({"s-[3-3]:1"}), ElementsAre("s-3:1"));
  EXPECT_TRUE(ExpandAddresses({})->empty());
}

TEST(AddressRangeTest, BracketsOfIpv6AddressAreNoRange) {
  EXPECT_THAT(*ExpandAddresses({"[::1]:7000", "[fe80::1-2]:1"}), ElementsAre("[::1]:7000", "[fe80::1-2]:1"));
}

TEST(AddressRangeTest, OtherTextIsUnchanged) {
  for (const char* text :
       {"s-[a-b]:1", "s-[1-]:1", "s-[1]:1", "s-[1-2:1", "s-]1-2[:1", "s-[01-2]:1", "s-[0-4294967296]:1"}) {
    EXPECT_THAT(*ExpandAddresses({text}), ElementsAre(text));
  }
}

TEST(AddressRangeTest, JoinedRangesExpandNumberByNumber) {
  EXPECT_THAT(*ExpandAddresses({"a-[0-1]:1|b-[2-3]:1|c-[5-6]:2", "[::1]:7|d:7"}),
              ElementsAre("a-0:1|b-2:1|c-5:2", "a-1:1|b-3:1|c-6:2", "[::1]:7|d:7"));
  EXPECT_THAT(ExpandAddresses({"a-[0-1]:1|b:1"}).status().message(), HasSubstr("ranges of 2 and 1 addresses"));
  EXPECT_FALSE(ExpandAddresses({"s-[0-40000]:1|t-[0-40000]:1"}).ok());  // too many in total
  EXPECT_THAT(SplitAddresses("a:1|b:2"), ElementsAre("a:1", "b:2"));
  EXPECT_THAT(SplitAddresses("a:1|"), ElementsAre("a:1", ""));
}

TEST(AddressRangeTest, IsBounded) {
  EXPECT_THAT(ExpandAddresses({"s-[2-1]:1"}).status().message(), HasSubstr("the end of the range is below its start"));
  EXPECT_EQ(ExpandAddresses({"s-[0-65535]:1"})->size(), 65536u);
  EXPECT_THAT(ExpandAddresses({"s-[0-65535]:1", "b:1"}).status().message(), HasSubstr("more than 65536"));
  EXPECT_FALSE(ExpandAddresses({"s-[0-4294967295]:1"}).ok());
}

}  // namespace
}  // namespace espalier::rpc
