// A cache of the API server's responses that no informer delivers: certificates, events, flavors, dry runs, refusals
// and taken names. Later reconciles of a job use the stored responses instead of sending the same requests. If a
// response is missing, the next reconcile that needs it sends the request again.
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

// How long facts about a Secret are valid. The deletion of a Secret is noticed after at most this time.
inline constexpr std::chrono::minutes kCertificatesLifetime{10};
// How long messages of events are valid: a little less than the shortest requeue time of a plan that waits for events.
// The requeued reconcile therefore reads the events again. A reconcile before that, for example when a pod starts, uses
// the stored messages.
inline constexpr std::chrono::seconds kEventsLifetime = plan::kMinEventReadInterval - std::chrono::seconds(1);

// How long the contents of a ResourceFlavor are valid.
inline constexpr std::chrono::minutes kFlavorsLifetime{10};

// Facts about the Secrets with certificates: dates and fingerprints, never contents.
struct Certificates {
  std::optional<resources::CertificateFacts> authority;
  std::map<api::Role, resources::CertificateFacts> leaves;
};

// Thread-safe. `uid` is the job's: what is stored for a deleted job is not used for a new job of the same name.
class JobMemory {
 public:
  explicit JobMemory(std::function<kube::WallTime()> wall_clock) : wall_clock_(std::move(wall_clock)) {}

  // Stores the facts about all certificates of the job, valid for `lifetime` from now.
  void RememberCertificates(const kube::ObjectKey& job, const std::string& uid, Certificates certificates,
                            std::chrono::seconds lifetime);
  // Returns nullopt if no valid facts are stored, or if they were stored before `read_since`.
  std::optional<Certificates> FindCertificates(const kube::ObjectKey& job, const std::string& uid,
                                               std::optional<kube::WallTime> read_since = std::nullopt);
  // Adds the facts about a new certificate. Does nothing if no facts about certificates of the job are stored.
  void RememberLeaf(const kube::ObjectKey& job, const std::string& uid, api::Role role,
                    const resources::CertificateFacts& facts);
  void ForgetCertificates(const kube::ObjectKey& job);

  // Stores the messages of events about the object with uid `about`, valid for `lifetime` from now.
  void RememberEvents(const kube::ObjectKey& job, const std::string& uid, const std::string& about,
                      std::vector<std::string> messages, std::chrono::seconds lifetime);
  // Returns nullopt if no valid messages are stored.
  std::optional<std::vector<std::string>> FindEvents(const kube::ObjectKey& job, const std::string& uid,
                                                     const std::string& about);

  // Stores a ResourceFlavor that Kueue has assigned to pods of the job, valid for `lifetime` from now.
  void RememberFlavor(const kube::ObjectKey& job, const std::string& uid, const std::string& name,
                      plan::Observed::Queue::Flavor flavor, std::chrono::seconds lifetime);
  std::optional<plan::Observed::Queue::Flavor> FindFlavor(const kube::ObjectKey& job, const std::string& uid,
                                                          const std::string& name);

  // Stores the result of a dry run. After `lifetime`, FindDryRun returns it with is_due set; without a lifetime, is_due
  // is never set.
  void RememberDryRun(const kube::ObjectKey& job, const std::string& uid, plan::Observed::DryRun dry_run,
                      std::optional<std::chrono::seconds> lifetime = std::nullopt);
  std::optional<plan::Observed::DryRun> FindDryRun(const kube::ObjectKey& job, const std::string& uid);

  // Stores the API server's refusal of an action of the last plan; nullopt: no action was refused. Keeps the stored
  // refusal and returns false if the new one is equal or differs only in numbers in the message.
  bool RememberRefusal(const kube::ObjectKey& job, const std::string& uid,
                       std::optional<plan::Observed::Refusal> refusal);
  std::optional<plan::Observed::Refusal> FindRefusal(const kube::ObjectKey& job, const std::string& uid);

  // The kind and name of a child that cannot be created, because an object of another owner has the name.
  using TakenName = std::pair<const kube::Resource*, std::string>;
  void RememberTakenName(const kube::ObjectKey& job, const std::string& uid, const TakenName& name);
  void ForgetTakenName(const kube::ObjectKey& job, const TakenName& name);
  std::vector<TakenName> FindTakenNames(const kube::ObjectKey& job, const std::string& uid);

  void Forget(const kube::ObjectKey& job);  // removes the entry of the job
  size_t size();                            // number of jobs with an entry

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
  // Returns null if nothing is stored about the job with this uid.
  Entry* Find(const kube::ObjectKey& job, const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Entry& FindOrAddEntry(const kube::ObjectKey& job, const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<kube::WallTime()> wall_clock_;
  Mutex mutex_;
  std::map<kube::ObjectKey, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::controller
