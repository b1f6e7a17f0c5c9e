// DistTrainings as they were read last. A round begins with reading one, which takes longer than most rounds' plans;
// and most rounds are about children, not about it.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "operator/api/dist_training.h"
#include "operator/controller/caches.h"
#include "services/base/mutex.h"

namespace espalier::ctl::controller {

// Thread-safe. Keeps those that were asked for last: parsed one takes ten times the room of its text, and of thousands
// most are idle.
class RecentTrainings {
 public:
  explicit RecentTrainings(size_t capacity = 256) : capacity_(capacity) {}

  // `record` as ParseDistTraining reads it. For the record of last time the same value, and for another of the same
  // resource only what has changed is read.
  Result<std::shared_ptr<const api::DistTraining>> Read(const std::shared_ptr<const TrainingRecord>& record);
  void Forget(const kube::ObjectKey& job);
  size_t size();

 private:
  struct Entry {
    std::shared_ptr<const TrainingRecord> record;  // held, so that no other can have its address
    std::shared_ptr<const api::DistTraining> training;
  };
  using Uses = std::list<std::pair<kube::ObjectKey, Entry>>;  // the latest first

  Entry Find(const kube::ObjectKey& job);
  void Keep(const kube::ObjectKey& job, Entry entry);

  const size_t capacity_;
  Mutex mutex_;
  Uses uses_ ABSL_GUARDED_BY(mutex_);
  std::map<kube::ObjectKey, Uses::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::controller
