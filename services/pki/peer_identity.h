// Who a process is, as its certificate says: a SPIFFE URI in the leaf's subject alternative names,
//
//   spiffe://espalier/<namespace>/<job uid>/<role>
//
// Every process of a job has a certificate of its role; a job's processes talk to processes of the same job only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::pki {

enum class PeerRole { kPartitioner, kServer, kSampler, kTrainer, kOperator };
inline constexpr PeerRole kPeerRoles[] = {PeerRole::kPartitioner, PeerRole::kServer, PeerRole::kSampler,
                                          PeerRole::kTrainer, PeerRole::kOperator};
const char* ToString(PeerRole role);  // "partitioner", "server", "sampler", "trainer", "operator"

// Which job, of all that a cluster has ever run.
struct JobIdentity {
  std::string name_space;
  std::string job_uid;
  friend bool operator==(const JobIdentity&, const JobIdentity&) = default;
};

struct PeerIdentity {
  JobIdentity job;
  PeerRole role = PeerRole::kServer;
  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};

// "default/0a1b2c": both parts of letters, digits, '-', '_' and '.', at most 253 long.
Result<JobIdentity> ParseJobIdentity(const std::string& text);
std::string ToString(const JobIdentity& job);

std::string ToSpiffeUri(const PeerIdentity& identity);
Result<PeerIdentity> ParseSpiffeUri(const std::string& uri);

// The identity among a certificate's URI names, which must be the only one, if it is of `job` and of one of `roles`.
// Unauthenticated: no identity, or several; PermissionDenied: another job or role. The message says which.
Result<PeerIdentity> CheckPeer(std::span<const std::string> uri_names, const JobIdentity& job,
                               std::span<const PeerRole> roles);

}  // namespace espalier::pki
