// Does the cache show what we wrote? (KEP-5647.) After each write the returned resourceVersion is noted for the owner
// and the kind; until the informer of that kind has seen it, the owner is not reconciled: what looks missing may only
// be late.
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
  // For versions that cannot be compared, and caches that never show a write (it was overtaken by a deletion):
  // after this long what was noted is forgotten.
  explicit StaleGuard(std::chrono::seconds patience = std::chrono::seconds(30), Clock& clock = Clock::Real());

  // The newest of several counts; an empty version says nothing.
  void Wrote(const kube::ObjectKey& owner, const kube::Resource& resource, const std::string& resource_version);
  // `seen(resource)` is the informer's newest resourceVersion; not called under a lock.
  bool IsFresh(const kube::ObjectKey& owner, const std::function<std::string(const kube::Resource&)>& seen);
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
