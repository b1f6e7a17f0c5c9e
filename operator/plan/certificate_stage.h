// The stage that creates certificates of a job with mutual TLS, and the objects that the pods of all roles need.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void MakeCertificates(PlanBuilder& builder);
// Returns the time since which the operator's certificates must have been read for this plan: pods that cannot mount
// them, or that end because of them, show that what is remembered is out of date. nullopt: no pod says so.
std::optional<kube::WallTime> CertificatesReadSince(const api::DistTraining& training, const World& world,
                                                    kube::WallTime now);
// Returns whether the operator's certificates are missing, expired, or were issued after `job` was created. A Job that
// was started because of new certificates also counts for kMountDelay: kubelets may have mounted the old ones.
bool CertificatesAreReplaced(const PlanBuilder& builder, const kube::Job& job);
// Renews the certificates that exist, whatever the document says now.
void RenewCertificates(PlanBuilder& builder);
// Creates the objects that the pods of all roles need.
void MakeShared(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
