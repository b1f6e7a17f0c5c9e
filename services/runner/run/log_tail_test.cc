#include "services/runner/run/log_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "services/runner/run/training_view.h"

namespace espalier::run {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::StartsWith;

TEST(LogTailTest, ReturnsReadableLastLines) {
  const std::string path = testing::TempDir() + "log-tail-" + std::to_string(getpid());
  std::ofstream file(path);
  for (int i = 0; i < 20'000; ++i) file << "filler " << i << "\n";
  file << R"({"time":"t","level":"error","role":"server","message":"lost","peer":"x:1","n":3})"
       << "\nbare\x1b[31m text";
  file.close();

  EXPECT_THAT(LastLines(path, 3), ElementsAre("filler 19999", "ERROR lost peer=x:1 n=3", "bare?[31m text"));
  EXPECT_THAT(LastLines(path + "-none", 3), IsEmpty());
  EXPECT_EQ(ReadableLine("{\"not\":1}"), "{\"not\":1}");
  EXPECT_EQ(ReadableLine("{broken"), "{broken");
  unlink(path.c_str());
}

TEST(LogTailTest, KeepsCompleteLineAtStartOfTail) {
  constexpr size_t kTail = 64 << 10;
  const std::string path = testing::TempDir() + "log-tail-start-" + std::to_string(getpid());
  std::string tail = "first\n";
  tail += std::string(kTail - tail.size() - 1, 'x') + "\n";
  std::ofstream(path) << "before\n" << tail;
  EXPECT_THAT(LastLines(path, 9), ElementsAre("first", StartsWith("xxx")));
  std::ofstream(path) << "before" << tail;
  EXPECT_THAT(LastLines(path, 9), ElementsAre(StartsWith("xxx"))) << "the end of a line";
  unlink(path.c_str());
}

TEST(LogTailTest, LongLinesLoseTheirMiddleBetweenCharacters) {
  const std::string path = testing::TempDir() + "log-tail-long-" + std::to_string(getpid());
  const auto arrows = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "\u2192";
    return text;
  };
  std::ofstream(path) << std::string(400, 'a') << "\n"
                      << std::string(401, 'b') << "\n"
                      << "x" << arrows(200) << "\n"
                      << R"({"level":"error","message":"cannot continue","error":"the module fails:\n)"
                      << std::string(5000, 'n') << R"(\nRuntimeError: sizes differ"})"
                      << "\n";
  EXPECT_THAT(LastLines(path, 4),
              ElementsAre(std::string(400, 'a'), std::string(197, 'b') + " ... " + std::string(198, 'b'),
                          "x" + arrows(65) + " ... " + arrows(66),
                          AllOf(StartsWith("ERROR cannot continue error=the module fails:"),
                                EndsWith("n?RuntimeError: sizes differ"))));
  unlink(path.c_str());
}

TEST(TrainingViewTest, ReadsTheStatusOfATrainer) {
  const auto status = ParseTrainingStatus(
      R"({"epoch":3,"epochs":50,"percent":6.5,"etaSeconds":12,"metrics":{"loss":0.51234,"x":"y"},"more":[1]})");

  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->text, "epoch 3 of 50  loss 0.5123");
  EXPECT_DOUBLE_EQ(status->fraction, 0.065);
  EXPECT_EQ(status->remaining_seconds, 12);
  EXPECT_EQ(ParseTrainingStatus(R"({"epoch":4,"epochs":100000})")->text, "epoch 4 of 100000");
  EXPECT_EQ(ParseTrainingStatus(R"({"epoch":49,"percent":100,"etaSeconds":0})")->remaining_seconds, std::nullopt);
  EXPECT_EQ(ParseTrainingStatus(R"({"epoch":1,"seedsPerSecond":45120})")->text, "epoch 1  45.1 k seeds/s");
  const auto embedding = ParseTrainingStatus(
      R"({"phase":"Embedding","phasePercent":40,"epoch":49,"epochs":50,"percent":100,"etaSeconds":0})");
  EXPECT_EQ(embedding->phase, "embedding");
  EXPECT_DOUBLE_EQ(embedding->fraction, 0.4) << "of the phase";
  EXPECT_EQ(ParseTrainingStatus(R"({"phase":"Writing","epoch":49,"percent":100})")->fraction, -1) << "not known";
  EXPECT_EQ(ParseTrainingStatus(R"({"phase":"\u001b[2J","epoch":1})")->phase, "training") << "an unknown phase";
  EXPECT_FALSE(ParseTrainingStatus("{}").has_value());
  EXPECT_FALSE(ParseTrainingStatus("nonsense").has_value());
  EXPECT_LT(ParseTrainingStatus("{\"epoch\":0}")->fraction, 0);
}

}  // namespace
}  // namespace espalier::run
