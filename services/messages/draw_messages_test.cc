// Draw options in messages: decoding returns the encoded options.
#include "services/messages/draw_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace espalier::messages {
namespace {

void Change(bool& option) { option = !option; }
void Change(std::string& option) { option = "column"; }
template <sampler::Spelled E>
void Change(E& option) {
  option = std::rbegin(sampler::Spelling<E>::kNames)->first;
}

// Returns one specification for each option, in which only this option differs from its default.
std::vector<sampler::DrawSpec> OneOptionEach() {
  std::vector<sampler::DrawSpec> specs;
  sampler::DrawSpec unset;
  size_t num_options = 0;
  sampler::VisitOptions(unset, [&](const sampler::OptionText&, const auto&) { ++num_options; });
  for (size_t i = 0; i < num_options; ++i) {
    size_t at = 0;
    sampler::VisitOptions(specs.emplace_back(), [&](const sampler::OptionText&, auto& option) {
      if (at++ == i) Change(option);
    });
    EXPECT_NE(specs.back(), unset);
  }
  specs.push_back({.time_column = "when"});
  return specs;
}

TEST(DrawMessagesTest, EveryMiniBatchOptionRoundTrips) {
  for (const sampler::DrawSpec& sent : OneOptionEach()) {
    minibatch::v1::SamplingSpec message;
    EncodeDraw(sent, &message);
    minibatch::v1::SamplingSpec received;
    ASSERT_TRUE(received.ParseFromString(message.SerializeAsString()));
    const Result<sampler::DrawSpec> got = DecodeDraw(received);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(*got, sent) << message.DebugString();
  }
  EXPECT_EQ(*DecodeDraw(minibatch::v1::SamplingSpec()), sampler::DrawSpec());
}

TEST(DrawMessagesTest, EveryHopOptionRoundTrips) {
  for (const sampler::DrawSpec& sent : OneOptionEach()) {
    graph::v1::SampleNeighborsRequest message;
    EncodeDraw(sent, &message);
    graph::v1::SampleNeighborsRequest received;
    ASSERT_TRUE(received.ParseFromString(message.SerializeAsString()));
    const Result<sampler::DrawSpec> got = DecodeDraw(received);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    sampler::DrawSpec of_hop = sent;
    of_hop.expand = sampler::Expand::kAlways;  // an option of batches, which hop requests do not have
    EXPECT_EQ(*got, of_hop) << message.DebugString();
  }
  EXPECT_EQ(*DecodeDraw(graph::v1::SampleNeighborsRequest()), sampler::DrawSpec());
}

TEST(DrawMessagesTest, EveryMethodRoundTripsAndOthersAreRefused) {
  for (const auto& [method, name] : sampler::Spelling<sampler::DrawMethod>::kNames) {
    const Result<sampler::DrawMethod> got = DecodeDrawMethod(EncodeDrawMethod(method));
    ASSERT_TRUE(got.ok()) << name;
    EXPECT_EQ(*got, method) << name;
  }
  minibatch::v1::SamplingSpec message;
  message.set_method(static_cast<graph::v1::DrawMethod>(9));
  EXPECT_EQ(DecodeDraw(message).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(DecodeDraw(message).status().message(), "draw method 9 does not exist");
  message.clear_method();
  message.set_expand(static_cast<minibatch::v1::Expand>(9));
  EXPECT_EQ(DecodeDraw(message).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::messages
