// Names and addresses of a job's pods: "<pod>.<service>.<namespace>.svc.<cluster domain>:<port>".
#pragma once

#include <string>

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// Returns the addresses of all servers or samplers as ranges in the format of services/rpc/address_range.h:
// "cora-server-0-[0-2643].cora.ml.svc.cluster.local:7000". For servers there is one range for each container of each
// replica, with one address per partition; ranges are joined by '|'. For samplers there is one range of all samplers.
std::string ServerAddresses(const Context& context);
std::string SamplerAddresses(const Context& context);  // empty: the job has no samplers
// Return the host name of rank 0 in status.incarnation, and its address with kTrainerPort.
std::string Rank0Host(const Context& context);
std::string RendezvousAddress(const Context& context);

// Returns the wildcard for all pods of the job: "*.cora.default.svc.cluster.local".
std::string WildcardHost(const Context& context);

}  // namespace espalier::ctl::resources
