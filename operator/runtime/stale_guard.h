// Tracks whether the cache contains the operator's own writes (KEP-5647). After each write of an object, the returned
// resourceVersion is recorded for the object's owner and kind. Until the informer of that kind has seen this version,
// the owner is not reconciled: otherwise an object that was just created could look missing.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "operator/kube/resource.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier::ctl::runtime {

// Thread-safe.
class StaleGuard {
 public:
  // A write counts as seen after `patience`, in case versions are not comparable or the cache never shows the write,
  // for example because the object was deleted right after it.
  explicit StaleGuard(std::chrono::seconds patience = std::chrono::seconds(30), Clock& clock = Clock::Real());

  // Records a write of an object of the owner. Per owner and kind only the newest version counts; an empty version is
  // ignored.
  void Wrote(const kube::ObjectKey& owner, const kube::Resource& resource, const std::string& resource_version);
  // Returns true if the cache has seen all writes for the owner. `seen(resource)` returns the newest resourceVersion of
  // the informer; it is called without a lock.
  bool IsFresh(const kube::ObjectKey& owner, const std::function<std::string(const kube::Resource&)>& seen);
  // Drops the recorded writes of the owner.
  void Forget(const kube::ObjectKey& owner);

 private:
  struct Note {
    kube::Resource resource;
    std::string resource_version;
    SteadyTime at;
  };
  using Notes = std::map<std::string, Note>;  // by plural.group

  bool IsShown(const Note& note, const std::string& seen) const;

  const std::chrono::seconds patience_;
  Clock& clock_;
  Mutex mutex_;
  std::map<kube::ObjectKey, Notes> notes_ ABSL_GUARDED_BY(mutex_);  // by owner
};

}  // namespace espalier::ctl::runtime
