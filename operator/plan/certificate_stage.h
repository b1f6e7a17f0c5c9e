// The stage that creates certificates of a job with mutual TLS, and the objects that the pods of all roles need.
#pragma once

#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Plans the certificates of a job whose certificates the operator makes (tls: Managed). While the document is not
// accepted, only renews the existing ones.
void MakeCertificates(PlanBuilder& builder);
// Returns a time: if the Secrets with certificates were last read before it, they must be read again, because a pod may
// be unable to mount its certificates or has ended because of them. Returns nullopt if there is no such pod.
std::optional<kube::WallTime> RequiredCertificateReadTime(const api::DistTraining& training, const World& world,
                                                          kube::WallTime now);
// Returns whether any of the job's certificates is missing, has expired, or was issued after the trainers' Job `job`
// was created. If the Job was itself created because of new certificates, also returns true if one was issued at most
// two minutes before the Job: kubelets may have mounted the old one. Returns false if the operator does not make them.
bool CertificatesAreReplaced(const PlanBuilder& builder, const kube::Job& job);
// Plans the renewal of existing certificates that are due. Does not need a valid document.
void RenewCertificates(PlanBuilder& builder);
// Applies the ConfigMap, ServiceAccount, Service and NetworkPolicy, which the pods of all roles need.
void ApplySharedObjects(PlanBuilder& builder);

}  // namespace espalier::ctl::plan
