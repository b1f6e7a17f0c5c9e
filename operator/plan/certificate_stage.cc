// Creates what the pods of all roles need before they start: Service, ServiceAccount, NetworkPolicy, the ConfigMap with
// the document, and certificates.
//
// No watch covers Secrets. They are read every ten minutes, and earlier if a pod waits long for its containers, or if a
// container ends with exit code 77 and a message about certificates: then a Secret may be missing or unusable.
#include "operator/plan/certificate_stage.h"

#include <algorithm>

#include "operator/api/program_container.h"
#include "operator/plan/acceptance.h"
#include "operator/plan/blockers.h"
#include "operator/resources/labels.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::Role;

constexpr std::chrono::minutes kCertificateCheckInterval{10};
// A pod that has waited for its containers for kLongWait may lack its Secret of certificates. It may also just pull a
// large image, so while it waits the Secrets are read only every kRereadIntervalWhileWaiting.
constexpr std::chrono::seconds kLongWait{15}, kRereadIntervalWhileWaiting{30};
// After a pod has ended because of certificates, Secrets that were read longer ago than this are read again.
constexpr std::chrono::seconds kRereadDelayAfterExit{4};
// How long kubelets may still mount the old contents of a Secret after it was replaced.
constexpr std::chrono::minutes kMountDelay{2};

// Returns the annotation by which a user requests new certificates; "": none.
std::string FindRenewalRequest(const api::DistTraining& training) {
  const auto found = training.meta.annotations.find(resources::kRenewAnnotation);
  return found == training.meta.annotations.end() ? std::string() : found->second;
}

bool IsUpToDate(const resources::CertificateFacts& leaf, const resources::CertificateFacts& authority,
                const PlanBuilder& builder) {
  return leaf.authority == authority.authority && leaf.renewal == FindRenewalRequest(builder.training()) &&
         builder.now() < resources::RenewalTime(leaf);
}

bool IsManaged(const api::DistTraining& training) {
  return training.spec && training.spec->tls == api::TlsMode::kManaged;
}

std::vector<const kube::Pod*> PodsWithCertificates(const api::DistTraining& training, const World& world) {
  std::vector<const kube::Pod*> pods;
  for (const Role role : RolesWithCertificates(training)) {
    pods.insert(pods.end(), world.pods(role).begin(), world.pods(role).end());
  }
  return pods;
}

// Returns whether a container that is not ready has ended because of a certificate, now or before its last restart.
bool EndedByCertificates(const kube::Pod& pod) {
  const auto is_by_certificate = [&pod](const kube::ContainerState& container,
                                        const std::optional<kube::ContainerEnd>& end) {
    return end && !end->succeeded() && IsAboutCertificates(FindFailure(pod, container, *end));
  };
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const kube::ContainerState& container) {
    return !container.ready &&
           (is_by_certificate(container, container.ended) || is_by_certificate(container, container.last_ended));
  });
}

}  // namespace

std::optional<kube::WallTime> RequiredCertificateReadTime(const api::DistTraining& training, const World& world,
                                                          kube::WallTime now) {
  if (!IsManaged(training)) return std::nullopt;
  const std::vector<const kube::Pod*> pods = PodsWithCertificates(training, world);
  if (std::any_of(pods.begin(), pods.end(), [](const kube::Pod* pod) { return EndedByCertificates(*pod); })) {
    return now - kRereadDelayAfterExit;
  }
  const auto waits_for_long = [now](const kube::Pod* pod) {
    return WaitsForItsContainers(*pod) && pod->meta.created_at + kLongWait <= now;
  };
  if (std::any_of(pods.begin(), pods.end(), waits_for_long)) return now - kRereadIntervalWhileWaiting;
  return std::nullopt;
}

bool CertificatesAreReplaced(const PlanBuilder& builder, const kube::Job& job) {
  if (!IsManaged(builder.training())) return false;
  const Observed& seen = builder.seen();
  if (!seen.authority || builder.now() >= seen.authority->expires_at) return true;
  const bool restarted_for_certificates = builder.training().status.restart_reason == kCertificatesReplaced;
  const kube::WallTime replaced_after =
      job.meta.created_at - (restarted_for_certificates ? kMountDelay : std::chrono::minutes(0));
  const std::vector<Role> roles = RolesWithCertificates(builder.spec());
  return std::any_of(roles.begin(), roles.end(), [&](Role role) {
    const auto leaf = seen.leaves.find(role);
    if (leaf == seen.leaves.end() || builder.now() >= leaf->second.expires_at) return true;
    return leaf->second.expires_at - resources::kLeafLifetime > replaced_after;
  });
}

std::vector<Role> RolesWithCertificates(const api::Spec& spec) {
  if (spec.job.sampler_replicas == 0) return {Role::kServer, Role::kTrainer};
  return {Role::kServer, Role::kSampler, Role::kTrainer};
}

std::vector<Role> RolesWithCertificates(const api::DistTraining& training) {
  if (training.spec) return RolesWithCertificates(*training.spec);
  return {Role::kServer, Role::kSampler, Role::kTrainer};
}

void ApplySharedObjects(PlanBuilder& builder) {
  const resources::Context context = builder.context();
  const std::string inputs = resources::InputsOfShared(context);
  const auto apply = [&](const kube::Resource& resource, const std::string& name,
                         kube::Json (*build)(const resources::Context&)) {
    builder.Apply(resource, name, inputs, [&] { return build(context); });
  };
  apply(kube::kConfigMaps, resources::ConfigName(builder.name()), resources::ConfigMap);
  apply(kube::kServiceAccounts, resources::ServiceAccountName(builder.name()), resources::ServiceAccount);
  apply(kube::kServices, resources::ServiceName(builder.name()), resources::Service);
  apply(kube::kNetworkPolicies, resources::NetworkPolicyName(builder.name()), resources::NetworkPolicy);
}

void MakeCertificates(PlanBuilder& builder) {
  if (builder.spec().tls != api::TlsMode::kManaged) return;
  if (!IsAccepted(builder.training(), builder.seen())) return RenewCertificates(builder);
  const Observed& seen = builder.seen();
  const bool has_authority = seen.authority && builder.now() < seen.authority->expires_at;
  if (!has_authority) builder.Add(MakeAuthority{});
  for (const Role role : RolesWithCertificates(builder.spec())) {
    const auto leaf = seen.leaves.find(role);
    if (has_authority && leaf != seen.leaves.end() && IsUpToDate(leaf->second, *seen.authority, builder)) {
      builder.RequeueAt(resources::RenewalTime(leaf->second));
    } else {
      builder.Add(MakeLeaf{role});
    }
  }
  builder.RequeueAfter(kCertificateCheckInterval);  // no watch reports a deleted Secret
  for (const kube::Pod* pod : PodsWithCertificates(builder.training(), builder.world())) {
    if (!WaitsForItsContainers(*pod)) continue;
    const kube::WallTime due = pod->meta.created_at + kLongWait;
    builder.RequeueAt(due > builder.now() ? due : builder.now() + kRereadIntervalWhileWaiting);
  }
}

// A job that keeps running although its document is refused may outlive its certificates.
void RenewCertificates(PlanBuilder& builder) {
  const std::optional<resources::CertificateFacts>& authority = builder.seen().authority;
  if (!authority || builder.now() >= authority->expires_at) return;
  for (const auto& [role, leaf] : builder.seen().leaves) {
    if (IsUpToDate(leaf, *authority, builder)) {
      builder.RequeueAt(resources::RenewalTime(leaf));
    } else {
      builder.Add(MakeLeaf{role});
    }
  }
  builder.RequeueAfter(kCertificateCheckInterval);
}

}  // namespace espalier::ctl::plan
