// What all roles' pods need before there are any: name, identity, document, fence, certificates.

#include "operator/plan/stages.h"
#include "operator/resources/labels.h"

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

void MakeShared(Draft& draft) {
  const resources::Context context = draft.context();
  draft.Apply(kube::kConfigMaps, resources::ConfigMap(context));
  draft.Apply(kube::kServiceAccounts, resources::ServiceAccount(context));
  draft.Apply(kube::kServices, resources::Service(context));
  draft.Apply(kube::kNetworkPolicies, resources::NetworkPolicy(context));
}

void MakeCertificates(Draft& draft) {
  // Nobody has looked for them otherwise (QuestionsOf).
  if (draft.spec().tls != api::TlsMode::kManaged || !IsAccepted(draft.training(), draft.seen())) return;
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

}  // namespace espalier::ctl::plan
