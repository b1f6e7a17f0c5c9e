// A cache of the API server's responses about objects of a job that no informer watches, so that not every reconcile
// requests them again. If an entry is missing, the next reconcile requests the object again.
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

// How long facts about a Secret are valid. A Secret that was deleted is noticed after at most this time.
inline constexpr std::chrono::minutes kCertificatesLifetime{10};
// How long messages of events are valid. While pods start, reconciles are more frequent and use the same messages. A
// reconcile that a plan has requested with requeue_after comes later and reads the events again.
inline constexpr std::chrono::seconds kEventsLifetime = plan::kMinEventReadInterval - std::chrono::seconds(1);

// How long a ResourceFlavor is used without reading it again. Kueue does not change the flavors of an admitted
// Workload.
inline constexpr std::chrono::minutes kFlavorsLifetime{10};

// Facts about the Secrets with certificates: dates and fingerprints, never contents.
struct Certificates {
  std::optional<resources::CertificateFacts> authority;
  std::map<api::Role, resources::CertificateFacts> leaves;
};

// Thread-safe. `uid` distinguishes a job from a deleted one of the same name.
class JobMemory {
 public:
  explicit JobMemory(std::function<kube::WallTime()> wall_clock) : wall_clock_(std::move(wall_clock)) {}

  // Stores the facts about all certificates, valid for `lifetime` from now.
  void RememberCertificates(const kube::ObjectKey& job, const std::string& uid, Certificates certificates,
                            std::chrono::seconds lifetime);
  // Returns nullopt if nothing valid is stored, or if it was read before `read_since`.
  std::optional<Certificates> FindCertificates(const kube::ObjectKey& job, const std::string& uid,
                                               std::optional<kube::WallTime> read_since = std::nullopt);
  // Adds the facts about a new certificate. Does nothing if the facts about the job's other certificates are not
  // stored.
  void RememberLeaf(const kube::ObjectKey& job, const std::string& uid, api::Role role,
                    const resources::CertificateFacts& facts);
  void ForgetCertificates(const kube::ObjectKey& job);

  // Stores the messages of events about the object with uid `about`, valid for `lifetime` from now.
  void RememberEvents(const kube::ObjectKey& job, const std::string& uid, const std::string& about,
                      std::vector<std::string> messages, std::chrono::seconds lifetime);
  std::optional<std::vector<std::string>> FindEvents(const kube::ObjectKey& job, const std::string& uid,
                                                     const std::string& about);

  // Stores a ResourceFlavor of Kueue that pods of the job run in, valid for `lifetime` from now.
  void RememberFlavor(const kube::ObjectKey& job, const std::string& uid, const std::string& name,
                      plan::Observed::Queue::Flavor flavor, std::chrono::seconds lifetime);
  std::optional<plan::Observed::Queue::Flavor> FindFlavor(const kube::ObjectKey& job, const std::string& uid,
                                                          const std::string& name);

  // Stores the answer of a dry run. After `lifetime` FindDryRun sets its `is_due`; unset: never.
  void RememberDryRun(const kube::ObjectKey& job, const std::string& uid, plan::Observed::DryRun dry_run,
                      std::optional<std::chrono::seconds> lifetime = std::nullopt);
  std::optional<plan::Observed::DryRun> FindDryRun(const kube::ObjectKey& job, const std::string& uid);

  // Stores the API server's refusal of the last action; nullopt: there was none. Returns true if it differs from the
  // stored one.
  bool RememberRefusal(const kube::ObjectKey& job, const std::string& uid,
                       std::optional<plan::Observed::Refusal> refusal);
  std::optional<plan::Observed::Refusal> FindRefusal(const kube::ObjectKey& job, const std::string& uid);

  // A name of one of this job's children that an object of another owner has.
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
  struct Flavor {
    plan::Observed::Queue::Flavor flavor;
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
    std::map<std::string, Events> events;   // by uid of the object they are about
    std::map<std::string, Flavor> flavors;  // by name
  };
  // Returns null if nothing is stored about the job.
  Entry* Find(const kube::ObjectKey& job, const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Entry& FindOrAddEntry(const kube::ObjectKey& job, const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<kube::WallTime()> wall_clock_;
  Mutex mutex_;
  std::map<kube::ObjectKey, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::controller
