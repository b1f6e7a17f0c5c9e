#include "services/trainer/evaluation/run_phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace espalier::trainer {
namespace {

using testing::ElementsAre;
using testing::Pair;

using Reports = std::vector<std::pair<RunPhase, std::optional<double>>>;

PhaseTracker TrackerInto(Reports* reports) {
  return PhaseTracker(
      [reports](RunPhase phase, std::optional<double> fraction) { reports->emplace_back(phase, fraction); });
}

TEST(PhaseTrackerTest, ReportsTheFractionOfTheExpectedRows) {
  Reports reports;
  const PhaseTracker phases = TrackerInto(&reports);
  phases.Begin(RunPhase::kEvaluating, 8);
  phases.Add(2);
  phases.Add(8);  // more than expected
  EXPECT_THAT(reports, ElementsAre(Pair(RunPhase::kEvaluating, 0.0), Pair(RunPhase::kEvaluating, 0.25),
                                   Pair(RunPhase::kEvaluating, 1.0)));
}

TEST(PhaseTrackerTest, ReportsNoFractionOfUnknownWork) {
  Reports reports;
  const PhaseTracker phases = TrackerInto(&reports);
  phases.Begin(RunPhase::kWriting, 0);
  phases.Add(3);
  EXPECT_THAT(reports, ElementsAre(Pair(RunPhase::kWriting, std::nullopt), Pair(RunPhase::kWriting, std::nullopt)));
}

TEST(PhaseTrackerTest, CopiesCountTogether) {
  Reports reports;
  const PhaseTracker phases = TrackerInto(&reports);
  const PhaseTracker copy = phases;
  phases.Begin(RunPhase::kEmbedding, 4);
  copy.Add(1);
  phases.Add(1);
  EXPECT_EQ(reports.back(), std::pair(RunPhase::kEmbedding, std::optional(0.5)));
}

TEST(PhaseTrackerTest, ReportsNothingByDefault) {
  const PhaseTracker phases;
  phases.Begin(RunPhase::kTraining, 4);
  phases.Add(1);
  Reports reports;
  PhaseTracker assigned;
  assigned = TrackerInto(&reports);
  assigned.Begin(RunPhase::kTraining, 0);
  EXPECT_EQ(reports.size(), 1u);
}

}  // namespace
}  // namespace espalier::trainer
