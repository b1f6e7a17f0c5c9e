// The stage that creates certificates of a job with mutual TLS, and the objects that the pods of all roles need.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Plans the certificates of a job whose certificates the operator makes (tls: Managed). While the document is not
// accepted, only renews the existing ones.
void MakeCertificates(PlanBuilder& builder);
// If a pod cannot mount its certificates or has ended because of them, returns the earliest time at which the facts
// about the operator's certificates may have been read: older facts are out of date. nullopt: there is no such pod.
std::optional<kube::WallTime> CertificatesReadSince(const api::DistTraining& training, const World& world,
                                                    kube::WallTime now);
// Returns whether the operator's certificates are missing, expired, or were issued after `job` was created. If the Job
// was itself created because of new certificates, also returns true if they were issued at most two minutes before the
// Job: kubelets may still have mounted the old ones.
bool CertificatesAreReplaced(const PlanBuilder& builder, const kube::Job& job);
// Plans the renewal of existing certificates that are due. Does not need a valid document.
void RenewCertificates(PlanBuilder& builder);
// Applies the ConfigMap, ServiceAccount, Service and NetworkPolicy, which the pods of all roles need.
void MakeShared(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
