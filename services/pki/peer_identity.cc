#include "services/pki/peer_identity.h"

#include <algorithm>
#include <string_view>

namespace espalier::pki {
namespace {

constexpr std::string_view kPrefix = "spiffe://espalier/";
constexpr size_t kMaxPartBytes = 253;  // maximum length of a DNS name
constexpr size_t kMaxQuotedBytes = 300;

bool IsValidPart(const std::string& text) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= kMaxPartBytes && std::all_of(text.begin(), text.end(), allowed);
}

// Makes text that a peer has sent safe for messages: truncates it, puts it in quotes, and replaces bytes that are not
// printable ASCII by '?'.
std::string Quote(const std::string& text) {
  std::string quoted = text.substr(0, kMaxQuotedBytes);
  std::replace_if(
      quoted.begin(), quoted.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return "'" + quoted + "'";
}

std::string WithArticle(PeerRole role) {
  return (role == PeerRole::kOperator ? "an " : "a ") + std::string(ToString(role));
}

std::string JoinNames(std::span<const PeerRole> roles) {
  std::string names;
  for (const PeerRole role : roles) names += names.empty() ? WithArticle(role) : " or " + std::string(ToString(role));
  return names.empty() ? "no peer" : names;
}

}  // namespace

const char* ToString(PeerRole role) {
  switch (role) {
    case PeerRole::kPartitioner: return "partitioner";
    case PeerRole::kServer: return "server";
    case PeerRole::kSampler: return "sampler";
    case PeerRole::kTrainer: return "trainer";
    case PeerRole::kOperator: return "operator";
  }
  return "";
}

Result<JobIdentity> ParseJobIdentity(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash != std::string::npos) {
    JobIdentity job{text.substr(0, slash), text.substr(slash + 1)};
    if (IsValidPart(job.name_space) && IsValidPart(job.job_uid)) return job;
  }
  return InvalidArgument("job " + Quote(text) + ": expected namespace/uid, both of letters, digits, '-', '_' and '.'");
}

std::string ToString(const JobIdentity& job) { return job.name_space + "/" + job.job_uid; }

std::string ToSpiffeUri(const PeerIdentity& identity) {
  return std::string(kPrefix) + ToString(identity.job) + "/" + ToString(identity.role);
}

Result<PeerIdentity> ParseSpiffeUri(const std::string& uri) {
  const size_t last = uri.rfind('/');
  if (uri.starts_with(kPrefix) && last > kPrefix.size()) {
    Result<JobIdentity> job = ParseJobIdentity(uri.substr(kPrefix.size(), last - kPrefix.size()));
    for (const PeerRole role : kPeerRoles) {
      if (job.ok() && uri.substr(last + 1) == ToString(role)) return PeerIdentity{*std::move(job), role};
    }
  }
  return InvalidArgument(Quote(uri) + " is not an identity of a job's process: expected " + std::string(kPrefix) +
                         "<namespace>/<job uid>/<role>");
}

Result<PeerIdentity> CheckPeer(std::span<const std::string> uri_names, const JobIdentity& job,
                               std::span<const PeerRole> roles) {
  if (uri_names.size() != 1) {
    return Status(StatusCode::kUnauthenticated, "a certificate with " + std::to_string(uri_names.size()) +
                                                    " URI names: expected one, the process's identity");
  }
  Result<PeerIdentity> peer = ParseSpiffeUri(uri_names[0]);
  if (!peer.ok()) return Status(StatusCode::kUnauthenticated, peer.status().message());
  if (!(peer->job == job)) {
    return Status(StatusCode::kPermissionDenied,
                  WithArticle(peer->role) + " of job " + ToString(peer->job) + ", but this is job " + ToString(job));
  }
  if (std::find(roles.begin(), roles.end(), peer->role) == roles.end()) {
    return Status(StatusCode::kPermissionDenied,
                  WithArticle(peer->role) + " where " + JoinNames(roles) + " is expected");
  }
  return peer;
}

}  // namespace espalier::pki
