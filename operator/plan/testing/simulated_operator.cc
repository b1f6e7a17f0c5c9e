#include "operator/plan/testing/simulated_operator.h"

#include <algorithm>

namespace espalier::ctl::plan::testing {
namespace {

// The largest lag of a cache in snapshots. The test takes them a second apart, less than kShortBackoff.
constexpr size_t kMaxLate = 2;

const Defaults kDefaults{.core_image = "espalier/core:1", .trainer_image = "espalier/trainer:1"};

}  // namespace

void SimulatedOperator::Restart() {
  history_.clear();
  history_.push_back(cluster_.Now());
  for (Cache& cache : caches_) cache = {first_version_, first_version_};
}

Observed SimulatedOperator::View(double late) {
  history_.push_back(cluster_.Now());
  const size_t now = first_version_ + history_.size() - 1;
  for (Cache& cache : caches_) {
    const size_t earliest = std::max({cache.version, cache.at_least, now > kMaxLate ? now - kMaxLate : size_t{0}});
    const bool is_late = Happens(late) && earliest < now;
    cache.version = is_late ? earliest + random_.NextBelow(static_cast<uint32_t>(now - earliest + 1)) : now;
  }
  const auto snapshot = [this](Kind kind) -> const Observed& {
    return history_[caches_[kind].version - first_version_];
  };
  Observed seen = history_.back();
  seen.jobs = snapshot(kJobsKind).jobs;
  seen.stateful_sets = snapshot(kSetsKind).stateful_sets;
  seen.pods = snapshot(kPodsKind).pods;
  seen.others = snapshot(kOthersKind).others;
  while (history_.size() > kMaxLate + 1) {
    history_.pop_front();
    ++first_version_;
  }
  return seen;
}

// Makes the next look at this kind show the write.
void SimulatedOperator::NoteWrite(const Action& action) {
  const kube::Resource* resource = nullptr;
  if (const auto* apply = std::get_if<ApplyChild>(&action)) resource = apply->resource;
  if (const auto* deletion = std::get_if<plan::DeleteChild>(&action)) resource = deletion->resource;
  if (resource == nullptr) return;
  Kind kind = kOthersKind;
  if (*resource == kube::kJobs) kind = kJobsKind;
  if (*resource == kube::kStatefulSets) kind = kSetsKind;
  if (*resource == kube::kPods) kind = kPodsKind;
  caches_[kind].at_least = first_version_ + history_.size();
}

void SimulatedOperator::CheckAction(const Action& action, const api::Status& stored) {
  if (const auto* deletion = std::get_if<plan::DeleteChild>(&action)) {
    if (deletion->uid.empty()) Broken("deletes " + deletion->key.name + " by name alone");
    const Observed now = cluster_.Now();
    const auto is_foreign = [&](const kube::ObjectMeta& meta) {
      return meta.uid == deletion->uid && !IsOurs(meta, cluster_.training());
    };
    for (const auto& job : now.jobs) {
      if (is_foreign(job->meta)) Broken("deletes a foreign Job " + job->meta.key.name);
    }
    for (const Child& child : now.others) {
      if (is_foreign(child.meta)) Broken("deletes a foreign " + child.meta.key.name);
    }
  }
  const auto* apply = std::get_if<ApplyChild>(&action);
  if (apply == nullptr) return;
  const std::string name = kube::StringAt(apply->object, {"metadata", "name"});
  if (api::IsTerminal(stored)) Broken("makes " + name + " although the job has ended");
  if (*apply->resource == kube::kJobs) {
    if (stored.partition_attempt == 0) Broken("makes " + name + " before the status says so");
    const bool is_trainers = name == "cora-trainer-" + std::to_string(stored.incarnation);
    const bool is_partitioners = name == "cora-partition-" + std::to_string(stored.partition_attempt);
    if (!is_trainers && !is_partitioners) Broken("makes " + name + ", which is not in the status");
    if (is_trainers && !stored.partition) Broken("trains before there are partitions");
  }
  if (*apply->resource == kube::kStatefulSets && !stored.partition) Broken("serves before there are partitions");
}

void SimulatedOperator::CheckWorld() {
  if (cluster_.RunningIncarnations().size() > 1) Broken("trainers of two incarnations run at once");
  for (const int64_t incarnation : cluster_.RunningIncarnations()) {
    if (incarnation > cluster_.training().status.incarnation) {
      Broken("trainers of an incarnation that is not in the status");
    }
  }
}

bool SimulatedOperator::Reconcile(const Faults& faults) {
  const api::DistTraining training = cluster_.training();
  Observed seen = View(faults.late_cache);
  DropUnrequested(CollectLookups(training, seen, cluster_.now()), &seen);
  const Plan plan = MakePlan(training, seen, kDefaults, cluster_.now());
  wake_at_.reset();
  if (plan.requeue_after) {
    wake_at_ = cluster_.now() + std::chrono::ceil<std::chrono::microseconds>(*plan.requeue_after);
  }

  const bool writes = api::ToJson(plan.status) != api::ToJson(training.status);
  if (writes) {
    if (Happens(faults.refused_status)) return true;
    if (!cluster_.WriteStatus(plan.status, training.meta.resource_version).ok()) return true;
    if (api::IsTerminal(training.status) && !api::IsTerminal(plan.status))
      Broken("the status of an ended job is not terminal any more");
  }
  for (const Action& action : plan.actions) {
    if (Happens(faults.crash)) {
      Restart();
      return true;
    }
    CheckAction(action, cluster_.training().status);
    NoteWrite(action);
    if (!cluster_.Do(action).ok()) break;
    CheckWorld();
  }
  CheckWorld();
  return writes || !plan.actions.empty();
}

}  // namespace espalier::ctl::plan::testing
