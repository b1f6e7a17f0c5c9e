#include "services/server/answer_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::server {
namespace {

// Returns a response of `size` bytes, each of which is `letter`.
Tensor MakeAnswer(size_t size, uint8_t letter) { return Tensor::FromVector(std::vector<uint8_t>(size, letter)); }

size_t SizeOfAnswers(size_t count, size_t size) { return count * (AnswerCache::kOverheadBytes + size); }

TEST(AnswerCacheTest, AreFoundByClientAndNumber) {
  AnswerCache answers(1 << 20);
  answers.Keep({1, 7, 7}, MakeAnswer(3, 'a'));
  answers.Keep({2, 7, 7}, MakeAnswer(3, 'b'));
  ASSERT_TRUE(answers.Find({1, 7, 7}).has_value());
  EXPECT_EQ(answers.Find({1, 7, 7})->values<uint8_t>()[0], 'a');
  EXPECT_EQ(answers.Find({2, 7, 7})->values<uint8_t>()[2], 'b');
  EXPECT_FALSE(answers.Find({1, 8, 7}).has_value());
  EXPECT_EQ(answers.SizeBytes(), SizeOfAnswers(2, 3));
}

TEST(AnswerCacheTest, AreDroppedWhenClientAcknowledges) {
  AnswerCache answers(1 << 20);
  answers.Keep({1, 7, 5}, MakeAnswer(3, 'a'));
  answers.Keep({1, 8, 5}, MakeAnswer(3, 'b'));
  answers.Keep({2, 6, 6}, MakeAnswer(3, 'c'));
  answers.Keep({1, 9, 8}, MakeAnswer(3, 'd'));  // changes below 8 have ended
  EXPECT_FALSE(answers.Find({1, 7, 5}).has_value());
  EXPECT_TRUE(answers.Find({1, 8, 5}).has_value());
  EXPECT_TRUE(answers.Find({1, 9, 8}).has_value());
  EXPECT_TRUE(answers.Find({2, 6, 6}).has_value());  // each client has its own numbers
  EXPECT_EQ(answers.SizeBytes(), SizeOfAnswers(3, 3));
}

TEST(AnswerCacheTest, OldestIsEvicted) {
  AnswerCache answers(SizeOfAnswers(2, 100));
  answers.Keep({1, 1, 1}, MakeAnswer(100, 'a'));
  answers.Keep({2, 1, 1}, MakeAnswer(100, 'b'));
  answers.Keep({3, 1, 1}, MakeAnswer(100, 'c'));
  EXPECT_FALSE(answers.Find({1, 1, 1}).has_value());
  EXPECT_TRUE(answers.Find({2, 1, 1}).has_value());
  EXPECT_TRUE(answers.Find({3, 1, 1}).has_value());
  EXPECT_EQ(answers.SizeBytes(), SizeOfAnswers(2, 100));
}

TEST(AnswerCacheTest, TooLargeResponseEvictsNoOther) {
  AnswerCache answers(SizeOfAnswers(1, 100));
  answers.Keep({1, 1, 1}, MakeAnswer(100, 'a'));
  answers.Keep({2, 1, 1}, MakeAnswer(101, 'b'));
  EXPECT_TRUE(answers.Find({1, 1, 1}).has_value());
  EXPECT_FALSE(answers.Find({2, 1, 1}).has_value());
}

TEST(AnswerCacheTest, NumberHasOneReply) {
  AnswerCache answers(1 << 20);
  answers.Keep({1, 1, 1}, MakeAnswer(5, 'a'));
  answers.Keep({1, 1, 1}, MakeAnswer(3, 'b'));
  EXPECT_EQ(answers.Find({1, 1, 1})->values<uint8_t>()[0], 'b');
  EXPECT_EQ(answers.SizeBytes(), SizeOfAnswers(1, 3));
}

}  // namespace
}  // namespace espalier::server
