// The stage that creates certificates of a job with mutual TLS, and the objects that the pods of all roles need.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

void MakeCertificates(PlanBuilder& builder);
// Returns the earliest time at which the facts about the operator's certificates may have been read for this plan. A
// pod that cannot mount its certificates, or that ends because of them, shows that facts read earlier are out of date.
// nullopt: there is no such pod, and older facts may be used.
std::optional<kube::WallTime> CertificatesReadSince(const api::DistTraining& training, const World& world,
                                                    kube::WallTime now);
// Returns whether the operator's certificates are missing, expired, or were issued after `job` was created. For a Job
// that was created because of new certificates, certificates count as new even if they were issued up to kMountDelay
// before the Job: kubelets may still have mounted the old ones.
bool CertificatesAreReplaced(const PlanBuilder& builder, const kube::Job& job);
// Renews the certificates that exist, whatever the document says now.
void RenewCertificates(PlanBuilder& builder);
// Creates the objects that the pods of all roles need.
void MakeShared(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
