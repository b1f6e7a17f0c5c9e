// For tests: a status with every field set except progress, which is written separately.
#pragma once

#include "operator/api/status.h"

namespace espalier::ctl::api {

inline kube::WallTime At(int64_t seconds) { return kube::WallTime(std::chrono::seconds(1'700'000'000 + seconds)); }

inline Status FullStatus() {
  Status status;
  status.observed_generation = 3;
  status.phase = Phase::kRestarting;
  SetCondition(&status, {kAccepted, ConditionStatus::kTrue, "Valid", "", 3}, At(1));
  SetCondition(&status, {kRestarting, ConditionStatus::kTrue, "NodeLost", "node a is gone", 3}, At(2));
  SetCondition(&status, {kServersReady, ConditionStatus::kUnknown, "Starting", "", 2}, At(2));
  status.incarnation = 4;
  status.partition_attempt = 2;
  status.attempts_total = 5;
  status.attempts_counted = 1;
  status.restart_reason = "NodeLost";
  status.partition = PartitionStatus{"sha256:ab", "s3://results/cora/partitions/ab", 0.25, 1 << 30};
  status.script = ScriptStatus{"s3://code/train.py", std::string(64, 'a')};
  status.images = {{"server", "core:1"}, {"trainer", "trainer:1"}};
  status.replicas = {{"server", {2, 1, 1}}};
  status.trainer_replicas = 2;
  status.selector = "espalier.io/job=cora";
  status.started_at = At(3);
  status.finished_at = At(4);
  status.last_error = LastError{"trainer", "OOMKilled", "the container ran out of memory", 137, "cora-trainer-4-0"};
  status.child_refs = {{"Job", "cora-trainer-4"}, {"StatefulSet", "cora-server-0"}};
  return status;
}

}  // namespace espalier::ctl::api
