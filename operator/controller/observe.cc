#include "operator/controller/observe.h"

#include <algorithm>
#include <utility>

#include "operator/resources/names.h"

namespace espalier::ctl::controller {
namespace {

// Of kube-apiserver's events; enough to name a cause, whatever a controller repeats.
constexpr int kMaxEvents = 20;
constexpr char kFailedCreate[] = "FailedCreate";

// nullopt: not there.
Result<std::optional<kube::Json>> GetIfThere(client::ApiClient& client, const kube::Resource& resource,
                                             const kube::ObjectKey& key) {
  Result<kube::Json> object = client.Get(resource, key);
  if (object.ok()) return std::optional(*std::move(object));
  if (object.status().code() == StatusCode::kNotFound) return std::optional<kube::Json>();
  return std::move(object).status();
}

// nullopt for a Secret that is not there, another's, or of no use.
Result<std::optional<resources::CertificateFacts>> ReadFacts(client::ApiClient& client,
                                                             const api::DistTraining& training,
                                                             const std::string& name) {
  ASSIGN_OR_RETURN(const std::optional<kube::Json> secret,
                   GetIfThere(client, kube::kSecrets, {training.meta.key.name_space, name}));
  if (!secret) return std::optional<resources::CertificateFacts>();
  const Result<kube::ObjectMeta> meta = kube::ParseObjectMeta(*secret);
  if (!meta.ok() || !plan::IsOurs(*meta, training)) return std::optional<resources::CertificateFacts>();
  return resources::FactsOf(*secret);
}

Result<Certificates> ReadCertificates(client::ApiClient& client, const api::DistTraining& training) {
  const std::string& job = training.meta.key.name;
  Certificates certificates;
  ASSIGN_OR_RETURN(certificates.authority, ReadFacts(client, training, resources::AuthoritySecretName(job)));
  for (const api::Role role : api::kRoles) {
    ASSIGN_OR_RETURN(const auto facts, ReadFacts(client, training, resources::TlsSecretName(job, role)));
    if (facts) certificates.leaves.emplace(role, *facts);
  }
  return certificates;
}

Result<std::vector<std::string>> CreationFailures(client::ApiClient& client, const std::string& name_space,
                                                  const std::string& uid) {
  kube::ListOptions options;
  options.name_space = name_space;
  options.field_selector = "involvedObject.uid=" + uid + ",reason=" + kFailedCreate;
  ASSIGN_OR_RETURN(const client::ObjectList list, client.List(kube::kCoreEvents, options));
  std::vector<kube::Event> events;
  for (const kube::Json& object : list.items) {
    Result<kube::Event> event = kube::ParseEvent(object);
    if (event.ok() && event->involved_uid == uid && event->reason == kFailedCreate) events.push_back(*std::move(event));
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const kube::Event& a, const kube::Event& b) { return a.last_seen > b.last_seen; });
  if (events.size() > kMaxEvents) events.resize(kMaxEvents);
  std::vector<std::string> messages;
  for (kube::Event& event : events) messages.push_back(std::move(event.message));
  return messages;
}

}  // namespace

plan::Observed ObservedFromCaches(const api::DistTraining& training, const Caches& caches, JobMemory& memory) {
  const kube::ObjectKey& job = training.meta.key;
  plan::Observed seen;
  seen.jobs = caches.jobs.ByIndex(job);
  seen.stateful_sets = caches.stateful_sets.ByIndex(job);
  seen.pods = caches.pods.ByIndex(job);
  for (const auto& store : caches.others) {
    for (const auto& child : store->ByIndex(job)) seen.others.push_back(*child);
  }
  seen.dry_run = memory.DryRunOf(job, training.meta.uid);
  seen.refusal = memory.RefusalOf(job, training.meta.uid);
  return seen;
}

std::vector<std::string> ReferencedSecrets(const api::Spec& spec) {
  std::vector<std::string> names;
  if (!spec.job.s3.credentials_secret.empty()) names.push_back(spec.job.s3.credentials_secret);
  if (spec.tls == api::TlsMode::kSecretRef && !spec.tls_secret.empty()) names.push_back(spec.tls_secret);
  return names;
}

Status LookInTheWay(const api::DistTraining& training, client::ApiClient& client, JobMemory& memory,
                    plan::Observed* seen) {
  const kube::ObjectKey& job = training.meta.key;
  for (const JobMemory::TakenName& name : memory.TakenOf(job, training.meta.uid)) {
    ASSIGN_OR_RETURN(const auto there, GetIfThere(client, *name.first, {job.name_space, name.second}));
    const Result<kube::ObjectMeta> meta = there ? kube::ParseObjectMeta(*there) : NotFound("");
    if (meta.ok() && !plan::IsOurs(*meta, training)) {
      seen->in_the_way.push_back({name.first, *meta});
    } else {
      memory.ForgetTaken(job, name);
    }
  }
  return Status();
}

Status Answer(const plan::Questions& questions, const api::DistTraining& training, client::ApiClient& client,
              JobMemory& memory, plan::Observed* seen) {
  const kube::ObjectKey& job = training.meta.key;
  if (questions.certificates) {
    std::optional<Certificates> certificates = memory.CertificatesOf(job, training.meta.uid);
    if (!certificates) {
      ASSIGN_OR_RETURN(certificates, ReadCertificates(client, training));
      memory.RememberCertificates(job, training.meta.uid, *certificates, kCertificatesLifetime);
    }
    seen->authority = certificates->authority;
    seen->leaves = certificates->leaves;
  }
  if (questions.referenced_secrets && training.spec) {
    for (const std::string& name : ReferencedSecrets(*training.spec)) {
      ASSIGN_OR_RETURN(const auto secret, GetIfThere(client, kube::kSecrets, {job.name_space, name}));
      if (!secret) seen->missing_secrets.push_back(name);
    }
  }
  for (const std::string& name : questions.vanished_jobs) {
    ASSIGN_OR_RETURN(const auto vanished, GetIfThere(client, kube::kJobs, {job.name_space, name}));
    if (!vanished) seen->confirmed_gone.push_back(name);
  }
  for (const std::string& uid : questions.creation_failures_of) {
    ASSIGN_OR_RETURN(seen->creation_failures[uid], CreationFailures(client, job.name_space, uid));
  }
  return Status();
}

}  // namespace espalier::ctl::controller
