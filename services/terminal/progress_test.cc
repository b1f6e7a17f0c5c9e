#include "services/terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::terminal {
namespace {

using testing::HasSubstr;
using testing::Not;

class FakeClock : public Clock {
 public:
  SteadyTime Now() override { return now_; }
  void SleepFor(std::chrono::nanoseconds duration) override { now_ += duration; }

 private:
  SteadyTime now_ = SteadyTime(std::chrono::hours(1));
};

// Returns what `use` printed.
template <class F>
std::string Printed(ProgressStyle style, F use) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  {
    FakeClock clock;
    Progress progress(style, file, clock);
    use(progress, clock);
  }
  std::fclose(file);
  const std::string printed(text, size);
  std::free(text);
  return printed;
}

TEST(ProgressTextTest, FormatsBarsDurationsAndCounts) {
  EXPECT_EQ(BarText(0, 12), "[          ]");
  EXPECT_EQ(BarText(0.5, 12), "[====>     ]");
  EXPECT_EQ(BarText(7, 12), "[==========]");
  EXPECT_EQ(DurationText(0.25), "0.2 s");
  EXPECT_EQ(DurationText(59.6), "1 min 0 s");
  EXPECT_EQ(DurationText(7500), "2 h 5 min");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1'234'000), "1.2 M");
  EXPECT_EQ(CountText(999.7), "1.0 k");
  EXPECT_EQ(CountText(999'949), "999.9 k");
  EXPECT_EQ(CountText(999'950), "1.0 M");
}

TEST(ProgressTest, PrintsFewLinesWithoutTerminal) {
  const std::string printed = Printed(ProgressStyle::kLines, [](Progress& progress, FakeClock& clock) {
    progress.Begin("training");
    for (int i = 1; i <= 100; ++i) {
      clock.SleepFor(std::chrono::milliseconds(100));
      progress.Update(i / 100.0, "epoch " + std::to_string(i));
    }
    progress.End("trained");
  });

  EXPECT_EQ(printed,
            "training\ntraining  50 %  epoch 50  5.0 s left\ntraining 100 %  epoch 100  0.0 s left\ntrained\n");
}

// As with an evaluation after each epoch: the phases are shorter than the interval between lines.
TEST(ProgressTest, RepeatedPhasesKeepIntervalBetweenLines) {
  const std::string printed = Printed(ProgressStyle::kLines, [](Progress& progress, FakeClock& clock) {
    progress.Begin("training");
    for (int epoch = 1; epoch <= 2; ++epoch) {
      progress.SwitchTo("training");
      clock.SleepFor(std::chrono::seconds(1));
      progress.Update(epoch / 2.0, "", std::nullopt);
      progress.SwitchTo("evaluating");
      clock.SleepFor(std::chrono::seconds(4));
      progress.Update(0.5, "");
    }
  });

  EXPECT_EQ(printed, "training\nevaluating  50 %  4.0 s left\nevaluating  50 %  4.0 s left\n");
}

TEST(ProgressTest, ABarShowsAnotherPhaseAtOnce) {
  const std::string printed = Printed(ProgressStyle::kBar, [](Progress& progress, FakeClock& clock) {
    progress.Begin("training");
    progress.Update(1, "", std::nullopt);
    progress.SwitchTo("writing");
    progress.Update(-1, "");
    clock.SleepFor(std::chrono::seconds(1));
  });

  EXPECT_THAT(printed, HasSubstr("100 %\r\033[Kwriting"));
}

TEST(ProgressTest, RedrawsItsBarAndClearsIt) {
  const std::string printed = Printed(ProgressStyle::kBar, [](Progress& progress, FakeClock& clock) {
    progress.Begin("training");
    clock.SleepFor(std::chrono::seconds(2));
    progress.Update(0.5, "epoch 5");
    progress.Note("a line");
  });

  EXPECT_THAT(printed, HasSubstr("\r\033[Ktraining [=============>              ]  50 %  epoch 5  2.0 s left"));
  EXPECT_THAT(printed, testing::EndsWith("\r\033[Ka line\n"));
}

TEST(ProgressTest, ShowsFractionRateAndRemainingTime) {
  const std::string printed = Printed(ProgressStyle::kBar, [](Progress& progress, FakeClock& clock) {
    WorkMeter meter;
    meter.Expect(40'000'000);
    progress.Begin("writing");
    progress.Update(meter);  // the meter has counted nothing yet
    clock.SleepFor(std::chrono::seconds(2));
    meter.Add(10'000'000);
    progress.Update(meter);
  });

  EXPECT_THAT(printed, HasSubstr("\r\033[Kwriting [======>                     ]  25 %  5.0 MB/s  6.0 s left"));
}

TEST(ProgressTest, ShowsElapsedTimeOfUnmeteredWork) {
  const std::string printed = Printed(ProgressStyle::kBar, [](Progress& progress, FakeClock& clock) {
    progress.Begin("cutting");
    clock.SleepFor(std::chrono::seconds(75));
    progress.Update(WorkMeter());
  });

  EXPECT_THAT(printed, HasSubstr("\r\033[Kcutting  1 min 15 s"));
}

TEST(ProgressTest, AMeteredPhaseEndsWithAFullBar) {
  const std::string printed = Printed(ProgressStyle::kBar, [](Progress& progress, FakeClock&) {
    MeteredPhase phase(progress, "generating");
    phase.meter()->Expect(1000);
    phase.meter()->Add(1000);
  });

  EXPECT_THAT(printed, HasSubstr("\r\033[Kgenerating"));
  EXPECT_THAT(printed, HasSubstr("100 %"));
}

TEST(ProgressTest, AMeteredPhaseWithoutATerminalIsOneLine) {
  const std::string printed = Printed(ProgressStyle::kLines, [](Progress& progress, FakeClock&) {
    MeteredPhase phase(progress, "generating");
    phase.meter()->Expect(1000);
    phase.meter()->Add(1000);
  });

  EXPECT_EQ(printed, "generating\n");
}

TEST(ProgressTest, IsSilentWhenQuiet) {
  EXPECT_EQ(Printed(ProgressStyle::kQuiet,
                    [](Progress& progress, FakeClock&) {
                      progress.Begin("x");
                      progress.Update(0.5, "y");
                      progress.End("z");
                    }),
            "");
}

}  // namespace
}  // namespace espalier::terminal
