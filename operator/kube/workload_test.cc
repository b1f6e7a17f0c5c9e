// Tests the parsing of Jobs, StatefulSets and Events, including objects with fields of wrong types.
#include "operator/kube/workload.h"

#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

template <class T>
T Parsed(Result<T> (*parse)(const Json&), std::string_view text) {
  const Result<Json> json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << json.status().ToString();
  const Result<T> object = parse(json.ok() ? *json : Json());
  EXPECT_TRUE(object.ok()) << object.status().ToString();
  return object.ok() ? *object : T();
}

TEST(JobTest, ReadsAJobThatRuns) {
  const Job job = Parsed(&ParseJob, R"({"metadata":{"name":"j"},"spec":{"completions":4,"parallelism":4},
                                        "status":{"active":3,"ready":2,"succeeded":1}})");
  EXPECT_EQ(job.completions, 4);
  EXPECT_EQ(job.active, 3);
  EXPECT_EQ(job.ready, 2);
  EXPECT_EQ(job.succeeded, 1);
  EXPECT_EQ(job.failed, 0);
  EXPECT_FALSE(job.suspended || job.complete || job.failure_target || job.has_failed);
}

TEST(JobTest, ReadsHowAJobEnded) {
  const Job complete = Parsed(&ParseJob, R"({"metadata":{"name":"j"},"status":{"completionTime":"2026-01-02T03:04:05Z",
    "conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}})");
  EXPECT_TRUE(complete.complete && complete.success_criteria_met);
  EXPECT_EQ(complete.completed_at, *ParseTime("2026-01-02T03:04:05Z"));

  const Job failed = Parsed(&ParseJob, R"({"metadata":{"name":"j"},"status":{"failed":1,"conditions":[
    {"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"Job has reached the limit"},
    {"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded"}]}})");
  EXPECT_TRUE(failed.failure_target && failed.has_failed);
  EXPECT_EQ(failed.failure_reason, "BackoffLimitExceeded");
  EXPECT_EQ(failed.failure_message, "Job has reached the limit");
}

TEST(JobTest, FailureTargetPrecedesFailed) {
  const Job job = Parsed(&ParseJob, R"({"metadata":{"name":"j"},"status":{"conditions":[
    {"type":"FailureTarget","status":"True","reason":"DeadlineExceeded"},{"type":"Failed","status":"False"}]}})");
  EXPECT_TRUE(job.failure_target);
  EXPECT_FALSE(job.has_failed);
  EXPECT_EQ(job.failure_reason, "DeadlineExceeded");
}

TEST(JobTest, SuccessCriteriaMetPrecedesComplete) {
  const Job job = Parsed(&ParseJob, R"({"metadata":{"name":"j"},"status":{"conditions":[
    {"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"False"}]}})");
  EXPECT_TRUE(job.success_criteria_met);
  EXPECT_FALSE(job.complete);
}

TEST(JobTest, ReadsSuspend) {
  const Job asked = Parsed(&ParseJob, R"({"metadata":{"name":"j"},"spec":{"suspend":true}})");
  EXPECT_TRUE(asked.suspended);
  EXPECT_EQ(asked.suspended_since, std::nullopt);
  const Job done = Parsed(&ParseJob, R"({"metadata":{"name":"j"},"spec":{"suspend":true},"status":{"conditions":[
    {"type":"Suspended","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]}})");
  EXPECT_EQ(done.suspended_since, *ParseTime("2026-01-02T03:04:05Z"));
}

TEST(JobTest, ParsesCompletedIndexes) {
  Job job;
  EXPECT_FALSE(job.HasCompleted("0"));
  job.completed_indexes = "0,2-4,7";
  for (const char* index : {"0", "2", "3", "4", "7"}) EXPECT_TRUE(job.HasCompleted(index)) << index;
  for (const char* index : {"1", "5", "6", "8", "-1", "", "x", "2-4"}) EXPECT_FALSE(job.HasCompleted(index)) << index;
  for (const char* text : {",", "-", "3-", "x-9", "4-2", ",,,"}) {
    job.completed_indexes = text;
    EXPECT_FALSE(job.HasCompleted("3")) << text;
  }
}

TEST(StatefulSetTest, ReadsReplicas) {
  const StatefulSet set = Parsed(&ParseStatefulSet, R"({"metadata":{"name":"s","generation":3},"spec":{"replicas":0},
    "status":{"observedGeneration":2,"replicas":2,"readyReplicas":1}})");
  EXPECT_EQ(set.observed_generation, 2);
  EXPECT_EQ(set.wanted, 0);
  EXPECT_EQ(set.current, 2);
  EXPECT_EQ(set.ready, 1);
}

TEST(StatefulSetTest, DefaultsToOneReplica) {
  EXPECT_EQ(Parsed(&ParseStatefulSet, R"({"metadata":{"name":"s"}})").wanted, 1);
}

TEST(EventTest, ReadsBothRecordersEvents) {
  const Event old_recorder =
      Parsed(&ParseEvent, R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Job","uid":"u-1"},
    "reason":"FailedCreate","message":"exceeded quota","eventTime":null,"firstTimestamp":"2026-01-02T03:00:00Z",
    "lastTimestamp":"2026-01-02T03:04:05Z"})");
  EXPECT_EQ(old_recorder.involved_kind, "Job");
  EXPECT_EQ(old_recorder.involved_uid, "u-1");
  EXPECT_EQ(old_recorder.reason, "FailedCreate");
  EXPECT_EQ(old_recorder.message, "exceeded quota");
  EXPECT_EQ(FormatTime(old_recorder.last_seen), "2026-01-02T03:04:05Z");

  const Event new_recorder = Parsed(&ParseEvent, R"({"metadata":{"name":"e","creationTimestamp":"2026-01-02T03:00:00Z"},
    "eventTime":"2026-01-02T03:00:00.000001Z","series":{"count":2,"lastObservedTime":"2026-01-02T03:04:05.000001Z"},
    "lastTimestamp":null})");
  EXPECT_EQ(FormatMicroTime(new_recorder.last_seen), "2026-01-02T03:04:05.000001Z");
}

TEST(WorkloadTest, SurvivesFieldsOfOtherTypes) {
  for (
      const char* text :
      {R"({"metadata":{"name":"x"},"spec":null,"status":[]})",
       R"({"metadata":{"name":"x"},"spec":{"completions":"4","suspend":"yes"},"status":{"active":-3,"conditions":{}}})",
       R"({"metadata":{"name":"x"},"involvedObject":1,"reason":{},"lastTimestamp":5,"eventTime":"never"})"}) {
    const Job job = Parsed(&ParseJob, text);
    EXPECT_EQ(job.active, 0);
    EXPECT_FALSE(job.suspended);
    EXPECT_EQ(Parsed(&ParseStatefulSet, text).ready, 0);
    EXPECT_EQ(Parsed(&ParseEvent, text).last_seen, WallTime());
  }
}

}  // namespace
}  // namespace espalier::ctl::kube
