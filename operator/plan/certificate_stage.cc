// What all roles' pods need before there are any: name, identity, document, fence, certificates.

#include "operator/plan/stages.h"
#include "operator/resources/labels.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::Role;

constexpr std::chrono::minutes kLookAtCertificates{10};

std::string RenewalAskedFor(const api::DistTraining& training) {
  const auto found = training.meta.annotations.find(resources::kRenewAnnotation);
  return found == training.meta.annotations.end() ? std::string() : found->second;
}

bool IsGood(const resources::CertificateFacts& leaf, const resources::CertificateFacts& authority, const Draft& draft) {
  return leaf.authority == authority.authority && leaf.renewal == RenewalAskedFor(draft.training()) &&
         draft.now() < resources::RenewalTimeOf(leaf);
}

}  // namespace

std::vector<Role> RolesWithCertificates(const api::Spec& spec) {
  if (spec.job.sampler_replicas == 0) return {Role::kServer, Role::kTrainer};
  return {Role::kServer, Role::kSampler, Role::kTrainer};
}

std::vector<Role> RolesWithCertificates(const api::DistTraining& training) {
  if (training.spec) return RolesWithCertificates(*training.spec);
  return {Role::kServer, Role::kSampler, Role::kTrainer};
}

void MakeShared(Draft& draft) {
  const resources::Context context = draft.context();
  const std::string inputs = resources::InputsOfShared(context);
  const auto apply = [&](const kube::Resource& resource, const std::string& name,
                         kube::Json (*build)(const resources::Context&)) {
    draft.Apply(resource, name, inputs, [&] { return build(context); });
  };
  apply(kube::kConfigMaps, resources::ConfigName(draft.name()), resources::ConfigMap);
  apply(kube::kServiceAccounts, resources::ServiceAccountName(draft.name()), resources::ServiceAccount);
  apply(kube::kServices, resources::ServiceName(draft.name()), resources::Service);
  apply(kube::kNetworkPolicies, resources::NetworkPolicyName(draft.name()), resources::NetworkPolicy);
}

void MakeCertificates(Draft& draft) {
  if (draft.spec().tls != api::TlsMode::kManaged) return;
  if (!IsAccepted(draft.training(), draft.seen())) return RenewCertificates(draft);
  const Observed& seen = draft.seen();
  const bool has_authority = seen.authority && draft.now() < seen.authority->expires_at;
  if (!has_authority) draft.Do(MakeAuthority{});
  for (const Role role : RolesWithCertificates(draft.spec())) {
    const auto leaf = seen.leaves.find(role);
    if (has_authority && leaf != seen.leaves.end() && IsGood(leaf->second, *seen.authority, draft)) {
      draft.WakeAt(resources::RenewalTimeOf(leaf->second));
    } else {
      draft.Do(MakeLeaf{role});
    }
  }
  draft.WakeAfter(kLookAtCertificates);  // no watch tells of a Secret that is gone
}

// A job that runs on although its document is refused runs for longer than its certificates are good for.
void RenewCertificates(Draft& draft) {
  const std::optional<resources::CertificateFacts>& authority = draft.seen().authority;
  if (!authority || draft.now() >= authority->expires_at) return;
  for (const auto& [role, leaf] : draft.seen().leaves) {
    if (IsGood(leaf, *authority, draft)) {
      draft.WakeAt(resources::RenewalTimeOf(leaf));
    } else {
      draft.Do(MakeLeaf{role});
    }
  }
  draft.WakeAfter(kLookAtCertificates);
}

}  // namespace espalier::ctl::plan
