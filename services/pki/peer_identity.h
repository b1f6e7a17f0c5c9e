// The identity of a process in its certificate: a SPIFFE URI in the subject alternative names of the leaf,
//
//   spiffe://espalier/<namespace>/<job uid>/<role>
//
// With mutual TLS, every server, sampler and trainer of a job has a certificate for its role and accepts only peers of
// the same job.
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

// Identifies a job among all jobs that a cluster has ever run.
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

// Parses "<namespace>/<job uid>". Both parts consist of 1 to 253 letters, digits, '-', '_' and '.'. InvalidArgument for
// other text.
Result<JobIdentity> ParseJobIdentity(const std::string& text);
std::string ToString(const JobIdentity& job);

std::string ToSpiffeUri(const PeerIdentity& identity);
// InvalidArgument: `uri` does not have the form above.
Result<PeerIdentity> ParseSpiffeUri(const std::string& uri);

// Returns the identity in a certificate's URI names. The identity must be of `job` and of one of `roles`.
// Unauthenticated: there is not exactly one URI name, or it is not an identity; PermissionDenied: the identity is of
// another job or role, which the message names.
Result<PeerIdentity> CheckPeer(std::span<const std::string> uri_names, const JobIdentity& job,
                               std::span<const PeerRole> roles);

}  // namespace espalier::pki
