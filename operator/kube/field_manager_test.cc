#include "operator/kube/field_manager.h"

#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

// The managedFields of an API server 1.35 for a Job that the operator has created and kubectl has patched.
constexpr char kJob[] = R"({"metadata": {"name": "cora-trainer-1", "managedFields": [
  {"apiVersion": "batch/v1", "fieldsType": "FieldsV1", "manager": "espalier-operator", "operation": "Update",
   "time": "2026-01-02T03:04:05Z",
   "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}, "f:spec": {"f:backoffLimit": {}, "f:completions": {}}}},
  {"apiVersion": "batch/v1", "fieldsType": "FieldsV1", "manager": "kubectl-patch", "operation": "Update",
   "time": "2026-01-02T03:05:00Z", "fieldsV1": {"f:spec": {"f:suspend": {}}}},
  {"apiVersion": "batch/v1", "fieldsType": "FieldsV1", "manager": "kube-controller-manager", "operation": "Update",
   "subresource": "status", "time": "2026-01-02T03:05:01Z", "fieldsV1": {"f:spec": {"f:suspend": {}}}}]}})";

TEST(FieldManagerTest, IsFoundByWrittenField) {
  const Json job = *ParseJson(kJob);
  EXPECT_EQ(FindFieldManager(job, {"spec", "suspend"}),
            (FieldManager{"kubectl-patch", *ParseTime("2026-01-02T03:05:00Z")}));
  EXPECT_EQ(FindFieldManager(job, {"spec", "completions"})->name, "espalier-operator");
  EXPECT_EQ(FindFieldManager(job, {"spec", "parallelism"}), std::nullopt);
  EXPECT_EQ(FindFieldManager(Json::object(), {"spec", "suspend"}), std::nullopt);
}

TEST(FieldManagerTest, LastOfSeveralWritersWins) {
  Json job = *ParseJson(kJob);
  Json later = {{"manager", "kueue"}, {"time", "2026-01-02T03:06:00Z"}};
  later["fieldsV1"]["f:spec"]["f:suspend"] = Json::object();
  Json& entries = job["metadata"]["managedFields"];
  entries.insert(entries.begin(), later);
  EXPECT_EQ(FindFieldManager(job, {"spec", "suspend"})->name, "kueue");
}

TEST(FieldManagerTest, MalformedEntriesAreSkipped) {
  for (const char* entry : {"1", "null", "{}", R"({"fieldsV1": []})", R"({"fieldsV1": {"f:spec": "x"}})"}) {
    Json job = {{"metadata", {{"managedFields", Json::array({*ParseJson(entry)})}}}};
    EXPECT_EQ(FindFieldManager(job, {"spec", "suspend"}), std::nullopt) << entry;
  }
}

}  // namespace
}  // namespace espalier::ctl::kube
