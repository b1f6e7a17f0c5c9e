// Under which names a job's pods find each other: "<pod>.<service>.<namespace>.svc.<cluster domain>:<port>".
#pragma once

#include <string>

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// "cora-server-0-[0-2643].cora.ml.svc.cluster.local:7000": all in one, as services/rpc/address_range.h reads it.
std::string ServerAddresses(
    const Context& context);  // by partition; those of its replicas and containers joined by '|'
std::string SamplerAddresses(const Context& context);   // empty: trainers sample themselves
std::string Rank0Host(const Context& context);          // of status.incarnation
std::string RendezvousAddress(const Context& context);  // of rank 0 of status.incarnation

// "*.cora.default.svc.cluster.local": all pods of the job.
std::string WildcardHost(const Context& context);

}  // namespace espalier::ctl::resources
