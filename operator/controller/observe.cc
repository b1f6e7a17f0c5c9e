// Children come from the caches. GET and LIST requests read what no cache contains (Secrets, events, objects without
// the job's label) and children for which a cache may be stale. The requests are sent only if the plan needs the
// objects. JobMemory stores the results that later reconciles may use. NotFound is a result, not an error. For Kueue's
// flavors and priority classes, PermissionDenied is a result too. Every other error ends the reconcile.
#include "operator/controller/observe.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "operator/kube/pod.h"
#include "operator/resources/names.h"

namespace espalier::ctl::controller {
namespace {

// Per object, the messages of at most this number of events are used: the newest ones.
constexpr int kMaxEvents = 20;

// Returns the object, or nullopt if it does not exist.
Result<std::optional<kube::Json>> GetIfExists(client::ApiClient& client, const kube::Resource& resource,
                                              const kube::ObjectKey& key) {
  Result<kube::Json> object = client.Get(resource, key);
  if (object.ok()) return std::optional(*std::move(object));
  if (object.status().code() == StatusCode::kNotFound) return std::optional<kube::Json>();
  return std::move(object).status();
}

// Returns nullopt if the Secret does not exist, belongs to another owner, or contains no usable certificate.
Result<std::optional<resources::CertificateFacts>> ReadFacts(client::ApiClient& client,
                                                             const api::DistTraining& training,
                                                             const std::string& name) {
  ASSIGN_OR_RETURN(const std::optional<kube::Json> secret,
                   GetIfExists(client, kube::kSecrets, {training.meta.key.name_space, name}));
  if (!secret) return std::optional<resources::CertificateFacts>();
  const Result<kube::ObjectMeta> meta = kube::ParseObjectMeta(*secret);
  if (!meta.ok() || !plan::IsOurs(*meta, training)) return std::optional<resources::CertificateFacts>();
  return resources::ParseCertificateFacts(*secret);
}

Result<Certificates> ReadCertificates(client::ApiClient& client, const api::DistTraining& training) {
  const std::string& job = training.meta.key.name;
  Certificates certificates;
  ASSIGN_OR_RETURN(certificates.authority, ReadFacts(client, training, resources::AuthoritySecretName(job)));
  if (!certificates.authority) return certificates;  // without the authority that signed them, leaves cannot be used
  for (const api::Role role : plan::RolesWithCertificates(training)) {
    ASSIGN_OR_RETURN(const auto facts, ReadFacts(client, training, resources::TlsSecretName(job, role)));
    if (facts) certificates.leaves.emplace(role, *facts);
  }
  return certificates;
}

// Which events of an object are read.
struct EventKind {
  const char* field_selector;
  bool (*matches)(const kube::Event& event);
  std::chrono::minutes max_age;  // older events are ignored: while a problem lasts, its events repeat
};

bool IsFailedCreate(const kube::Event& event) { return event.reason == "FailedCreate"; }

// Returns whether an event of the kubelet or the attach-detach controller reports a failure to mount a volume.
bool IsMountFailure(const kube::Event& event) {
  return event.reason == "FailedMount" || event.reason == "FailedMapVolume" || event.reason == "FailedAttachVolume";
}

// The maximum ages are longer than the retry intervals, which are at most 17 minutes for a failed creation and
// 2 minutes for a failed mount.
constexpr EventKind kCreationFailures{"reason=FailedCreate", IsFailedCreate, std::chrono::minutes(60)};
constexpr EventKind kMountFailures{"type=Warning", IsMountFailure, std::chrono::minutes(5)};

// Lists the events about the object with this uid, and returns their messages, newest first.
Result<std::vector<std::string>> ListEventMessages(client::ApiClient& client, const std::string& name_space,
                                                   const std::string& uid, const EventKind& kind, kube::WallTime now) {
  kube::ListOptions options;
  options.name_space = name_space;
  options.field_selector = "involvedObject.uid=" + uid + "," + kind.field_selector;
  ASSIGN_OR_RETURN(const client::ObjectList list, client.List(kube::kCoreEvents, options));
  std::vector<kube::Event> events;
  for (const kube::Json& object : list.items) {
    Result<kube::Event> event = kube::ParseEvent(object);
    if (!event.ok() || event->involved_uid != uid || !kind.matches(*event)) continue;
    if (now - event->last_seen <= kind.max_age) events.push_back(*std::move(event));
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const kube::Event& a, const kube::Event& b) { return a.last_seen > b.last_seen; });
  if (events.size() > kMaxEvents) events.resize(kMaxEvents);
  std::vector<std::string> messages;
  for (kube::Event& event : events) messages.push_back(std::move(event.message));
  return messages;
}

// Lists the pods of a Job by the label that the Job controller sets. Leaves out pods that cannot be parsed.
Result<std::vector<std::shared_ptr<const kube::Pod>>> ListPods(client::ApiClient& client, const kube::ObjectKey& job) {
  kube::ListOptions options;
  options.name_space = job.name_space;
  options.label_selector = "batch.kubernetes.io/job-name=" + job.name;
  ASSIGN_OR_RETURN(const client::ObjectList list, client.List(kube::kPods, options));
  std::vector<std::shared_ptr<const kube::Pod>> pods;
  for (const kube::Json& object : list.items) {
    Result<kube::Pod> pod = kube::ParsePod(object);
    if (pod.ok()) pods.push_back(std::make_shared<const kube::Pod>(*std::move(pod)));
  }
  return pods;
}

// Like ListEventMessages, but returns the messages in `memory` if it has them.
Result<std::vector<std::string>> ReadEventMessages(client::ApiClient& client, JobMemory& memory,
                                                   const api::DistTraining& training, const std::string& uid,
                                                   const EventKind& kind, kube::WallTime now) {
  const kube::ObjectMeta& job = training.meta;
  if (auto remembered = memory.FindEvents(job.key, job.uid, uid)) return *std::move(remembered);
  ASSIGN_OR_RETURN(std::vector<std::string> messages, ListEventMessages(client, job.key.name_space, uid, kind, now));
  memory.RememberEvents(job.key, job.uid, uid, messages, kEventsLifetime);
  return messages;
}

// Returns the message of an error that a retry does not resolve, or "" for other errors.
std::string PermanentErrorText(const Status& status) {
  const bool is_permanent = status.code() == StatusCode::kNotFound || status.code() == StatusCode::kPermissionDenied;
  return is_permanent ? status.message() : std::string();
}

Result<plan::Observed::Queue::Flavor> ReadFlavor(client::ApiClient& client, JobMemory& memory,
                                                 const api::DistTraining& training, const std::string& name) {
  const kube::ObjectMeta& job = training.meta;
  if (auto remembered = memory.FindFlavor(job.key, job.uid, name)) return *std::move(remembered);
  const Result<kube::Json> object = client.Get(kube::kResourceFlavors, {"", name});
  plan::Observed::Queue::Flavor flavor;
  if (!object.ok()) {
    flavor.error = PermanentErrorText(object.status());
    if (flavor.error.empty()) return object.status();
    return flavor;
  }
  if (const kube::Json* const labels = kube::Find(*object, {"spec", "nodeLabels"}); labels && labels->is_object()) {
    flavor.node_labels = *labels;
  }
  flavor.tolerations = kube::ListAt(*object, {"spec", "tolerations"});
  memory.RememberFlavor(job.key, job.uid, name, flavor, kFlavorsLifetime);
  return flavor;
}

Status ReadPriority(client::ApiClient& client, const std::string& name, plan::Observed::Queue* queue) {
  const Result<kube::Json> object = client.Get(kube::kWorkloadPriorityClasses, {"", name});
  if (!object.ok()) {
    queue->priority_error = PermanentErrorText(object.status());
    return queue->priority_error.empty() ? object.status() : Status();
  }
  queue->priority = kube::IntegerAt(*object, {"value"}).value_or(0);
  return Status();
}

// Returns nullopt if the Secret has all of `wanted.keys`. Otherwise returns its name and the keys that it lacks; no
// keys if the Secret does not exist.
std::optional<plan::Observed::MissingSecret> FindMissingKeys(const SecretReference& wanted,
                                                             const std::optional<kube::Json>& secret) {
  if (!secret) return plan::Observed::MissingSecret{.name = wanted.name};
  plan::Observed::MissingSecret missing{.name = wanted.name};
  for (const std::string& key : wanted.keys) {
    if (kube::Find(*secret, {"data", key}) == nullptr) missing.keys.push_back(key);
  }
  if (missing.keys.empty()) return std::nullopt;
  return missing;
}

}  // namespace

plan::Observed ObserveCaches(const api::DistTraining& training, const Caches& caches, JobMemory& memory) {
  const kube::ObjectKey& job = training.meta.key;
  plan::Observed seen;
  seen.jobs = caches.jobs.ByIndex(job);
  seen.stateful_sets = caches.stateful_sets.ByIndex(job);
  seen.pods = caches.pods.ByIndex(job);
  seen.queue.workloads = caches.workloads.ByIndex(job);
  seen.gangs.groups = caches.pod_groups.ByIndex(job);
  for (const auto& store : caches.others) {
    for (const auto& child : store->ByIndex(job)) seen.others.push_back(*child);
  }
  seen.dry_run = memory.FindDryRun(job, training.meta.uid);
  seen.refusal = memory.FindRefusal(job, training.meta.uid);
  return seen;
}

std::vector<SecretReference> FindReferencedSecrets(const api::Spec& spec) {
  std::vector<SecretReference> references;
  if (const std::string& name = spec.job.s3.credentials_secret; !name.empty()) {
    references.push_back({name, {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}});
  }
  if (spec.tls == api::TlsMode::kSecretRef && !spec.tls_secret.empty()) {
    SecretReference certificates{spec.tls_secret, {"ca.crt"}};
    for (const api::Role role : plan::RolesWithCertificates(spec)) {
      certificates.keys.push_back(std::string(api::ToString(role)) + ".crt");
      certificates.keys.push_back(std::string(api::ToString(role)) + ".key");
    }
    references.push_back(std::move(certificates));
  }
  return references;
}

Status ReadConflictingObjects(const api::DistTraining& training, client::ApiClient& client, JobMemory& memory,
                              plan::Observed* seen) {
  const kube::ObjectKey& job = training.meta.key;
  for (const JobMemory::TakenName& name : memory.FindTakenNames(job, training.meta.uid)) {
    ASSIGN_OR_RETURN(const auto existing, GetIfExists(client, *name.first, {job.name_space, name.second}));
    const Result<kube::ObjectMeta> meta = existing ? kube::ParseObjectMeta(*existing) : NotFound("");
    if (meta.ok() && !plan::IsOurs(*meta, training)) {
      seen->conflicting_objects.push_back({name.first, *meta});
    } else {
      memory.ForgetTakenName(job, name);
    }
  }
  return Status();
}

Status PerformLookups(const plan::Lookups& lookups, const api::DistTraining& training, client::ApiClient& client,
                      JobMemory& memory, kube::WallTime now, plan::Observed* seen) {
  const kube::ObjectKey& job = training.meta.key;
  if (lookups.certificates) {
    std::optional<Certificates> certificates =
        memory.FindCertificates(job, training.meta.uid, lookups.certificates_must_be_read_since);
    if (!certificates) {
      ASSIGN_OR_RETURN(certificates, ReadCertificates(client, training));
      memory.RememberCertificates(job, training.meta.uid, *certificates, kCertificatesLifetime);
    }
    seen->authority = certificates->authority;
    seen->leaves = certificates->leaves;
  }
  if (lookups.referenced_secrets && training.spec) {
    for (const SecretReference& wanted : FindReferencedSecrets(*training.spec)) {
      ASSIGN_OR_RETURN(const auto secret, GetIfExists(client, kube::kSecrets, {job.name_space, wanted.name}));
      if (auto missing = FindMissingKeys(wanted, secret)) seen->missing_secrets.push_back(*std::move(missing));
    }
  }
  for (const std::string& name : lookups.flavors) {
    ASSIGN_OR_RETURN(seen->queue.flavors[name], ReadFlavor(client, memory, training, name));
  }
  if (!lookups.priority_class.empty()) {
    RETURN_IF_ERROR(ReadPriority(client, lookups.priority_class, &seen->queue));
  }
  for (const std::string& name : lookups.vanished_jobs) {
    ASSIGN_OR_RETURN(const auto vanished, GetIfExists(client, kube::kJobs, {job.name_space, name}));
    if (!vanished) seen->confirmed_gone.push_back(name);
  }
  for (const std::string& name : lookups.unseen_pods_of) {
    ASSIGN_OR_RETURN(std::vector<std::shared_ptr<const kube::Pod>> pods, ListPods(client, {job.name_space, name}));
    std::move(pods.begin(), pods.end(), std::back_inserter(seen->pods));
  }
  for (const std::string& name : lookups.suspended_jobs) {
    const Result<kube::Json> suspended = client.GetWithManagedFields(kube::kJobs, {job.name_space, name});
    if (suspended.status().code() == StatusCode::kNotFound) continue;
    if (!suspended.ok()) return suspended.status();
    if (const auto manager = kube::FindFieldManager(*suspended, {"spec", "suspend"})) {
      seen->suspended_by.emplace(name, *manager);
    }
  }
  for (const std::string& uid : lookups.creation_failures_of) {
    ASSIGN_OR_RETURN(seen->creation_failures[uid],
                     ReadEventMessages(client, memory, training, uid, kCreationFailures, now));
  }
  for (const std::string& uid : lookups.mount_failures_of) {
    ASSIGN_OR_RETURN(const std::vector<std::string> messages,
                     ReadEventMessages(client, memory, training, uid, kMountFailures, now));
    if (!messages.empty()) seen->mount_failures[uid] = messages.front();
  }
  return Status();
}

}  // namespace espalier::ctl::controller
