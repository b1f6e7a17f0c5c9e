#include "operator/runtime/stale_guard.h"

#include <utility>
#include <vector>

#include "operator/kube/resource_version.h"

namespace espalier::ctl::runtime {
namespace {

std::string ToString(const kube::Resource& resource) {
  return std::string(resource.plural) + "." + std::string(resource.group);
}

}  // namespace

StaleGuard::StaleGuard(std::chrono::seconds patience, Clock& clock) : patience_(patience), clock_(clock) {}

void StaleGuard::Wrote(const kube::ObjectKey& owner, const kube::Resource& resource,
                       const std::string& resource_version) {
  if (resource_version.empty()) return;
  MutexLock lock(&mutex_);
  const auto [it, is_new] = notes_[owner].emplace(ToString(resource), Note{resource, resource_version, clock_.Now()});
  // Concurrent writes may be recorded out of order.
  if (is_new || kube::IsOlder(resource_version, it->second.resource_version).value_or(false)) return;
  it->second = Note{resource, resource_version, clock_.Now()};
}

bool StaleGuard::IsShown(const Note& note, const std::string& seen) const {
  if (seen == note.resource_version) return true;
  if (const auto is_behind = kube::IsOlder(seen, note.resource_version); is_behind.has_value() && !*is_behind) {
    return true;
  }
  return clock_.Now() - note.at >= patience_;
}

bool StaleGuard::IsFresh(const kube::ObjectKey& owner, const std::function<std::string(const kube::Resource&)>& seen) {
  Notes notes;
  {
    MutexLock lock(&mutex_);
    const auto it = notes_.find(owner);
    if (it == notes_.end()) return true;
    notes = it->second;
  }
  std::vector<std::pair<std::string, std::string>> shown;  // names and versions
  for (const auto& [name, note] : notes) {
    if (IsShown(note, seen(note.resource))) shown.emplace_back(name, note.resource_version);
  }

  MutexLock lock(&mutex_);
  const auto it = notes_.find(owner);
  if (it == notes_.end()) return true;
  for (const auto& [name, version] : shown) {
    const auto note = it->second.find(name);
    // Kept if there was another write in the meantime.
    if (note != it->second.end() && note->second.resource_version == version) it->second.erase(note);
  }
  if (!it->second.empty()) return false;
  notes_.erase(it);
  return true;
}

void StaleGuard::Forget(const kube::ObjectKey& owner) {
  MutexLock lock(&mutex_);
  notes_.erase(owner);
}

}  // namespace espalier::ctl::runtime
