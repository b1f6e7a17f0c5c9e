#include "operator/resources/names.h"

namespace espalier::ctl::resources {

std::string ServiceName(const std::string& job) { return job; }

std::string PartitionJobName(const std::string& job, int64_t attempt) {
  return job + "-partition-" + std::to_string(attempt);
}

std::string ServerSetName(const std::string& job, int64_t replica) {
  return job + "-server-" + std::to_string(replica);
}

std::string SamplerSetName(const std::string& job) { return job + "-sampler"; }

std::string TrainerJobName(const std::string& job, int64_t incarnation) {
  return job + "-trainer-" + std::to_string(incarnation);
}

std::string ConfigName(const std::string& job) { return job + "-config"; }

std::string TrainerConfigName(const std::string& job, int64_t incarnation) {
  return ConfigName(job) + "-" + std::to_string(incarnation);
}

std::string AuthoritySecretName(const std::string& job) { return job + "-ca"; }

std::string TlsSecretName(const std::string& job, api::Role role) { return job + "-tls-" + api::ToString(role); }

// The job's name alone might be that of an existing account, such as "default".
std::string ServiceAccountName(const std::string& job) { return job + "-job"; }

std::string NetworkPolicyName(const std::string& job) { return job + "-job"; }

std::string DisruptionBudgetName(const std::string& job) { return job + "-server"; }

std::string PodGroupName(const std::string& job, api::Role role, int64_t number) {
  switch (role) {
    case api::Role::kPartitioner: return PartitionJobName(job, number);
    case api::Role::kServer: return job + "-server";
    case api::Role::kSampler: return SamplerSetName(job);
    case api::Role::kTrainer: return TrainerJobName(job, number);
  }
  return "";
}

std::string QueuedWorkloadName(const std::string& job) { return job + "-workload"; }

std::string PortName(const std::string& name, uint32_t container) {
  return container == 0 ? name : name + "-" + std::to_string(container);
}

}  // namespace espalier::ctl::resources
