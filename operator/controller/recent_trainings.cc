// An LRU cache: a list in order of last use, and a map from job to list position. Read returns the training of the
// job's entry if `record` is the entry's record, compared by address. Otherwise it parses `record`, but copies the
// entry's parsed spec if name and spec are equal. An entry holds a reference to its record, so the address cannot be
// reused while the entry exists.
#include "operator/controller/recent_trainings.h"

namespace espalier::ctl::controller {

Result<std::shared_ptr<const api::DistTraining>> RecentTrainings::Read(
    const std::shared_ptr<const TrainingRecord>& record) {
  const kube::ObjectKey& job = record->meta.key;
  const Entry known = Find(job);
  if (known.record == record) return known.training;
  // Parsed without the lock, so that workers parse different jobs in parallel.
  ASSIGN_OR_RETURN(const kube::Json object, kube::ParseJson(record->object));
  ASSIGN_OR_RETURN(api::DistTraining training, known.training == nullptr
                                                   ? api::ParseDistTraining(object)
                                                   : api::ParseDistTraining(object, *known.training));
  auto read = std::make_shared<const api::DistTraining>(std::move(training));
  Keep(job, {record, read});
  return read;
}

RecentTrainings::Entry RecentTrainings::Find(const kube::ObjectKey& job) {
  MutexLock lock(&mutex_);
  const auto found = by_key_.find(job);
  if (found == by_key_.end()) return {};
  uses_.splice(uses_.begin(), uses_, found->second);
  return found->second->second;
}

void RecentTrainings::Keep(const kube::ObjectKey& job, Entry entry) {
  MutexLock lock(&mutex_);
  if (const auto found = by_key_.find(job); found != by_key_.end()) {
    found->second->second = std::move(entry);
    return;
  }
  uses_.emplace_front(job, std::move(entry));
  by_key_.emplace(job, uses_.begin());
  if (uses_.size() <= capacity_) return;
  by_key_.erase(uses_.back().first);
  uses_.pop_back();
}

void RecentTrainings::Forget(const kube::ObjectKey& job) {
  MutexLock lock(&mutex_);
  const auto found = by_key_.find(job);
  if (found == by_key_.end()) return;
  uses_.erase(found->second);
  by_key_.erase(found);
}

size_t RecentTrainings::size() {
  MutexLock lock(&mutex_);
  return uses_.size();
}

}  // namespace espalier::ctl::controller
