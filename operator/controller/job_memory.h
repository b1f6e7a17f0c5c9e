// What a process remembers of a job from one round to the next besides the caches: answers that cost requests. All of
// it may be lost: it is asked for again.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator/plan/plan.h"
#include "services/base/mutex.h"

namespace espalier::ctl::controller {

// How long the facts of a Secret are good for: one that somebody deletes is noticed by then.
inline constexpr std::chrono::minutes kCertificatesLifetime{10};
// And what events said: rounds come faster than that while pods start. Those that a plan has asked for ask anew.
inline constexpr std::chrono::seconds kEventsLifetime = plan::kAskAgain - std::chrono::seconds(1);

// Of the Secrets of certificates: dates and fingerprints, never contents.
struct Certificates {
  std::optional<resources::CertificateFacts> authority;
  std::map<api::Role, resources::CertificateFacts> leaves;
};

// Thread-safe. `uid` tells a job from one of the same name that was deleted.
class JobMemory {
 public:
  explicit JobMemory(std::function<kube::WallTime()> wall_clock) : wall_clock_(std::move(wall_clock)) {}

  // All for `lifetime` from now on.
  void RememberCertificates(const kube::ObjectKey& job, const std::string& uid, Certificates certificates,
                            std::chrono::seconds lifetime);
  // nullopt also where they were read before `read_since`.
  std::optional<Certificates> FindCertificates(const kube::ObjectKey& job, const std::string& uid,
                                               std::optional<kube::WallTime> read_since = std::nullopt);
  // One that was made since; nothing where the others are not remembered.
  void RememberLeaf(const kube::ObjectKey& job, const std::string& uid, api::Role role,
                    const resources::CertificateFacts& facts);
  void ForgetCertificates(const kube::ObjectKey& job);

  // Messages of the events about the object with the uid `about`, for `lifetime` from now on.
  void RememberEvents(const kube::ObjectKey& job, const std::string& uid, const std::string& about,
                      std::vector<std::string> messages, std::chrono::seconds lifetime);
  std::optional<std::vector<std::string>> FindEvents(const kube::ObjectKey& job, const std::string& uid,
                                                     const std::string& about);

  // `lifetime` unset: for as long as the generation stands.
  void RememberDryRun(const kube::ObjectKey& job, const std::string& uid, plan::Observed::DryRun dry_run,
                      std::optional<std::chrono::seconds> lifetime = std::nullopt);
  std::optional<plan::Observed::DryRun> FindDryRun(const kube::ObjectKey& job, const std::string& uid);

  // What the API server said to the last action; nullopt: it was done. True where that is news.
  bool RememberRefusal(const kube::ObjectKey& job, const std::string& uid,
                       std::optional<plan::Observed::Refusal> refusal);
  std::optional<plan::Observed::Refusal> FindRefusal(const kube::ObjectKey& job, const std::string& uid);

  // Names of children that others' objects have.
  using TakenName = std::pair<const kube::Resource*, std::string>;
  void RememberTaken(const kube::ObjectKey& job, const std::string& uid, const TakenName& name);
  void ForgetTaken(const kube::ObjectKey& job, const TakenName& name);
  std::vector<TakenName> FindTakenNames(const kube::ObjectKey& job, const std::string& uid);

  void Forget(const kube::ObjectKey& job);
  size_t size();

 private:
  struct Events {
    std::vector<std::string> messages;
    kube::WallTime until;
  };
  struct Entry {
    std::string uid;
    std::optional<Certificates> certificates;
    kube::WallTime certificates_read_at, certificates_until;
    std::optional<plan::Observed::DryRun> dry_run;
    std::optional<kube::WallTime> dry_run_until;
    std::optional<plan::Observed::Refusal> refusal;
    std::set<TakenName> taken;
    std::map<std::string, Events> events;  // by uid of the object that they are about
  };
  // Null for a job that nothing is known of.
  Entry* Find(const kube::ObjectKey& job, const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Entry& FindOrAddEntry(const kube::ObjectKey& job, const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<kube::WallTime()> wall_clock_;
  Mutex mutex_;
  std::map<kube::ObjectKey, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::controller
