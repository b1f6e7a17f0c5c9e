#include "services/partitioner/main/partitioning_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace espalier::partitioner {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PartitioningStatusTest, HasNoPhaseBeforeFirst) {
  telemetry::MetricRegistry metrics;
  const auto status = nlohmann::json::parse(PartitioningStatus("cora", 1, 4, metrics).Json());
  EXPECT_EQ(status["job"], "cora");
  EXPECT_EQ(status["rank"], 1);
  EXPECT_EQ(status["partitioners"], 4);
  EXPECT_FALSE(status.contains("phase"));
  EXPECT_THAT(metrics.Serialize(), Not(HasSubstr("espalier_partitioner_phase_")));
}

TEST(PartitioningStatusTest, ReportsPhaseAndProgress) {
  telemetry::MetricRegistry metrics;
  PartitioningStatus partitioning("cora", 0, 1, metrics);
  partitioning.OnPhase("reading", 0);
  partitioning.OnPhase("reading", 1);
  partitioning.OnPhase("writing", 0);
  EXPECT_FALSE(nlohmann::json::parse(partitioning.Json()).contains("phasePercent"));
  partitioning.OnPhase("writing", 0.25);
  ByteCounters bytes = partitioning.bytes();
  bytes.read.Add(7);
  bytes.written.Add(300);

  const auto status = nlohmann::json::parse(partitioning.Json());
  EXPECT_EQ(status["phase"], "writing");
  EXPECT_EQ(status["phasePercent"], 25);
  EXPECT_GE(status["phaseSeconds"], 0);
  EXPECT_EQ(status["seconds"].size(), 2u);
  EXPECT_EQ(status["readBytes"], 7);
  EXPECT_EQ(status["writtenBytes"], 300);
  EXPECT_TRUE(status["writtenBytes"].is_number_integer());
  const std::string text = metrics.Serialize();
  EXPECT_THAT(text, HasSubstr("espalier_partitioner_phase_done_ratio{phase=\"reading\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("espalier_partitioner_phase_done_ratio{phase=\"writing\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("espalier_partitioner_written_bytes_total 300\n"));
}

TEST(PartitioningStatusTest, ReportsProgressByBytes) {
  telemetry::MetricRegistry metrics;
  PartitioningStatus partitioning("cora", 0, 1, metrics);
  WorkMeter* const meter = partitioning.AddMeter("reading");
  partitioning.OnPhase("reading", 0);
  const auto percent = [&] { return nlohmann::json::parse(partitioning.Json()).value("phasePercent", 0.0); };
  EXPECT_EQ(percent(), 0);
  meter->Expect(400);
  meter->Add(100);
  EXPECT_EQ(percent(), 25);
  EXPECT_THAT(metrics.Serialize(), HasSubstr("espalier_partitioner_phase_done_ratio{phase=\"reading\"} 0.25\n"));
  meter->Add(500);
  EXPECT_EQ(percent(), 100) << "more than was expected";
  partitioning.OnPhase("reading", 1);
  partitioning.AddMeter("reading")->Expect(10);
  partitioning.OnPhase("reading", 0);
  EXPECT_EQ(percent(), 0) << "begun anew";
}

TEST(PartitioningStatusTest, PhaseTimeRunsUntilItsEnd) {
  telemetry::MetricRegistry metrics;
  PartitioningStatus partitioning("cora", 0, 1, metrics);
  const auto cutting_seconds = [&] {
    return nlohmann::json::parse(partitioning.Json())["seconds"]["cutting"].get<double>();
  };
  partitioning.OnPhase("cutting", 0);
  const double begun = cutting_seconds();
  while (cutting_seconds() == begun) {
  }
  partitioning.OnPhase("cutting", 1);
  const double ended = cutting_seconds();
  EXPECT_GT(ended, begun);
  EXPECT_EQ(cutting_seconds(), ended);
  EXPECT_THAT(metrics.Serialize(), HasSubstr("espalier_partitioner_phase_seconds{phase=\"cutting\"} "));
  EXPECT_FALSE(nlohmann::json::parse(partitioning.Json()).contains("phase"));
}

TEST(PartitioningStatusTest, RepeatedPhaseRestartsItsTime) {
  telemetry::MetricRegistry metrics;
  PartitioningStatus partitioning("cora", 0, 1, metrics);
  const auto writing_seconds = [&] {
    return nlohmann::json::parse(partitioning.Json())["seconds"]["writing"].get<double>();
  };
  partitioning.OnPhase("writing", 0);
  partitioning.OnPhase("writing", 1);
  partitioning.OnPhase("writing", 0);
  const double begun = writing_seconds();
  while (writing_seconds() == begun) {
  }
  EXPECT_EQ(nlohmann::json::parse(partitioning.Json())["phase"], "writing");
  partitioning.OnPhase("writing", 1);
  const double ended = writing_seconds();
  EXPECT_GT(ended, begun);
  EXPECT_EQ(writing_seconds(), ended);
}

}  // namespace
}  // namespace espalier::partitioner
