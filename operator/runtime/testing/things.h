// A minimal object type for tests, and a sink that records its changes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "operator/runtime/object_sink.h"
#include "services/base/mutex.h"

namespace espalier::ctl::runtime {

struct Thing {
  kube::ObjectMeta meta;
};

// Parses a Thing. Returns InvalidArgument if it has no uid.
inline Result<Thing> ParseThing(const kube::Json& object) {
  ASSIGN_OR_RETURN(kube::ObjectMeta meta, kube::ParseObjectMeta(object));
  if (meta.uid.empty()) return InvalidArgument("a thing without a uid");
  return Thing{std::move(meta)};
}

inline kube::ObjectKey ThingKey(const std::string& name) { return {"default", name}; }

inline kube::Json ThingJson(const std::string& name, const std::string& uid, const std::string& resource_version) {
  return {
      {"metadata", {{"namespace", "default"}, {"name", name}, {"uid", uid}, {"resourceVersion", resource_version}}}};
}

// Thread-safe.
class Things {
 public:
  // Returns the changes in order, as name and uids before and after; "-" is none: "a ->1", "a 1>1", "a 1>-".
  std::vector<std::string> changes() const {
    MutexLock lock(&mutex_);
    return changes_;
  }
  // Blocks until a change equals `what`. Returns false after 30 s.
  bool AwaitChange(const std::string& what) const {
    MutexLock lock(&mutex_);
    return mutex_.AwaitBefore(Deadline::After(std::chrono::seconds(30)), [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return std::find(changes_.begin(), changes_.end(), what) != changes_.end();
    });
  }

  Store<Thing>& store() { return store_; }
  ObjectSink& sink() { return sink_; }

 private:
  using Value = Store<Thing>::Value;

  void Changed(const Value& before, const Value& after) {
    const std::string name = (after ? after : before)->meta.key.name;
    MutexLock lock(&mutex_);
    changes_.push_back(name + " " + (before ? before->meta.uid : "-") + ">" + (after ? after->meta.uid : "-"));
  }

  Store<Thing> store_;
  StoreSink<Thing> sink_{store_, ParseThing,
                         [this](const Value& before, const Value& after) { Changed(before, after); }};
  mutable Mutex mutex_;
  std::vector<std::string> changes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::runtime
