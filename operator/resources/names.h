// The names of a job's child objects. They depend only on the job's name, the role, and the number of the attempt,
// incarnation or replica, so that creating a child twice returns AlreadyExists.
#pragma once

#include <cstdint>
#include <string>

#include "operator/api/dist_training.h"

namespace espalier::ctl::resources {

std::string ServiceName(const std::string& job);                             // "cora": headless, of all roles
std::string PartitionJobName(const std::string& job, int64_t attempt);       // "cora-partition-1"
std::string ServerSetName(const std::string& job, int64_t replica);          // "cora-server-0"
std::string SamplerSetName(const std::string& job);                          // "cora-sampler"
std::string TrainerJobName(const std::string& job, int64_t incarnation);     // "cora-trainer-1"
std::string ConfigName(const std::string& job);                              // "cora-config"
std::string TrainerConfigName(const std::string& job, int64_t incarnation);  // "cora-config-1"
std::string AuthoritySecretName(const std::string& job);                     // "cora-ca"
std::string TlsSecretName(const std::string& job, api::Role role);           // "cora-tls-server"
std::string ServiceAccountName(const std::string& job);                      // "cora-job"
std::string NetworkPolicyName(const std::string& job);                       // "cora-job"
std::string DisruptionBudgetName(const std::string& job);                    // "cora-server"
// Name of the PodGroup of a role's pods. `number` is the partition attempt or the incarnation; it is not used for
// servers and samplers.
std::string PodGroupName(const std::string& job, api::Role role, int64_t number);
std::string QueuedWorkloadName(const std::string& job);  // "cora-workload"

// Returns `name` with the number of the program container (api/program_container.h) that has the port: "admin" for
// number 0, "admin-1" for number 1. Names of ports are unique in a pod.
std::string PortName(const std::string& name, uint32_t container);

}  // namespace espalier::ctl::resources
