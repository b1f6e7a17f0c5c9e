// Under which names a job's pods find each other: "<pod>.<service>.<namespace>.svc.<cluster domain>:<port>".
#pragma once

#include <string>
#include <vector>

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

std::vector<std::string> ServerAddresses(const Context& context);   // by partition
std::vector<std::string> SamplerAddresses(const Context& context);  // empty: trainers sample themselves
std::string RendezvousAddress(const Context& context);              // of rank 0 of status.incarnation

std::string Joined(const std::vector<std::string>& addresses);  // with commas, as flags take them

// "*.cora.default.svc.cluster.local": all pods of the job.
std::string WildcardHost(const Context& context);

}  // namespace espalier::ctl::resources
