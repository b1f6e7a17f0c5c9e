// A cache of parsed DistTrainings. Most reconciles are caused by child objects and find the DistTraining unchanged, and
// parsing it again would usually take longer than planning.
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

// Thread-safe. Keeps only the `capacity` most recently used DistTrainings: a parsed one takes ten times the memory of
// its text, and of thousands of jobs most are idle.
class RecentTrainings {
 public:
  explicit RecentTrainings(size_t capacity = 256) : capacity_(capacity) {}

  // Returns `record` parsed by ParseDistTraining, with its errors. While the job's DistTraining is kept: for the same
  // record as in the previous call, returns the same object; for another record with the same spec, parses only the
  // other fields.
  Result<std::shared_ptr<const api::DistTraining>> Read(const std::shared_ptr<const TrainingRecord>& record);
  void Forget(const kube::ObjectKey& job);
  size_t size();

 private:
  struct Entry {
    std::shared_ptr<const TrainingRecord> record;  // held, so that no other record can get its address
    std::shared_ptr<const api::DistTraining> training;
  };
  using Uses = std::list<std::pair<kube::ObjectKey, Entry>>;  // most recently used first

  Entry Find(const kube::ObjectKey& job);
  void Keep(const kube::ObjectKey& job, Entry entry);

  const size_t capacity_;
  Mutex mutex_;
  Uses uses_ ABSL_GUARDED_BY(mutex_);
  std::map<kube::ObjectKey, Uses::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::controller
