// Parses and validates the variables of initialize.h. An empty variable counts as absent.
#include "services/client/session/initialize.h"

#include <limits>
#include <optional>
#include <utility>

#include "services/base/parse_number.h"
#include "services/graph/schema.h"
#include "services/rpc/address_range.h"
#include "services/rpc/tls.h"
#include "services/storage/cache/local_cache.h"

namespace espalier::client {
namespace {

std::optional<std::string> FindVariable(const Environment& environment, const std::string& name) {
  const auto variable = environment.find(name);
  if (variable == environment.end() || variable->second.empty()) return std::nullopt;
  return variable->second;
}

Result<uint64_t> ReadNumber(const Environment& environment, const std::string& name, uint64_t default_value,
                            uint64_t largest) {
  const std::optional<std::string> text = FindVariable(environment, name);
  if (!text) return default_value;
  const std::optional<uint64_t> number = ParseNumber<uint64_t>(*text);
  if (!number || *number > largest) {
    return InvalidArgument(name + "='" + *text + "' is not an integer from 0 to " + std::to_string(largest));
  }
  return *number;
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<bool> ParseFlag(const Environment& environment, const std::string& name) {
  const std::string text = FindVariable(environment, name).value_or("false");
  if (text == "true" || text == "false") return text == "true";
  return InvalidArgument(name + "='" + text + "': expected true or false");
}

// Loads the TLS credentials. Returns null if none of the four variables is set, InvalidArgument if only some are set.
Result<std::shared_ptr<const rpc::TransportSecurity>> LoadTls(const Environment& environment) {
  rpc::TlsSettings settings;
  std::string job;
  const std::pair<const char*, std::string*> variables[] = {{"ESPALIER_TLS_CA", &settings.ca_file},
                                                            {"ESPALIER_TLS_CERTIFICATE", &settings.certificate_file},
                                                            {"ESPALIER_TLS_KEY", &settings.key_file},
                                                            {"ESPALIER_TLS_JOB", &job}};
  std::string missing;
  size_t given = 0;
  for (const auto& [name, value] : variables) {
    *value = FindVariable(environment, name).value_or("");
    if (value->empty()) missing = name;
    given += value->empty() ? 0 : 1;
  }
  if (given == 0) return std::shared_ptr<const rpc::TransportSecurity>();
  if (!missing.empty()) return InvalidArgument(missing + " is not set: TLS needs all four ESPALIER_TLS variables");
  ASSIGN_OR_RETURN(settings.job, pki::ParseJobIdentity(job).While("ESPALIER_TLS_JOB"));
  return rpc::TransportSecurity::LoadWithRetry(settings, pki::PeerRole::kTrainer);
}

// Reads the addresses of the servers, or the location of the partitions that this process opens. Exactly one of them
// must be set.
Status ParseGraphLocation(const Environment& environment, SessionOptions* session) {
  const std::vector<std::string> servers = SplitAtCommas(FindVariable(environment, "ESPALIER_SERVERS").value_or(""));
  StandaloneOptions& standalone = session->standalone;
  standalone.partitions_uri = FindVariable(environment, "ESPALIER_PARTITIONS").value_or("");
  if (servers.empty() == standalone.partitions_uri.empty()) {
    return InvalidArgument(std::string("ESPALIER_SERVERS and ESPALIER_PARTITIONS are ") +
                           (servers.empty() ? "not" : "both") +
                           " set: expected host:port of each partition's graph server, or the folder of the "
                           "partitions that this process opens itself");
  }
  if (!servers.empty()) {
    ASSIGN_OR_RETURN(session->addresses, rpc::ExpandAddresses(servers).While("ESPALIER_SERVERS"));
    return Status();
  }
  ASSIGN_OR_RETURN(standalone.stores, storage::ParseStoreSettings(environment));
  standalone.cache.folder =
      FindVariable(environment, "ESPALIER_DATA_DIR").value_or(storage::DefaultCacheFolder(environment));
  return Status();
}

// Reads rank, world size and the address at which other ranks reach this rank.
Status ParseRank(const Environment& environment, Context* context) {
  constexpr uint64_t kMaxRank = std::numeric_limits<uint32_t>::max();
  ASSIGN_OR_RETURN(const uint64_t world_size, ReadNumber(environment, "ESPALIER_WORLD_SIZE", 1, kMaxRank));
  ASSIGN_OR_RETURN(const uint64_t rank, ReadNumber(environment, "ESPALIER_RANK", 0, kMaxRank));
  if (rank >= world_size) {
    return InvalidArgument("ESPALIER_RANK=" + std::to_string(rank) +
                           " is out of range: expected less than ESPALIER_WORLD_SIZE=" + std::to_string(world_size));
  }
  if (world_size > 1 && !context->session.standalone.partitions_uri.empty()) {
    return InvalidArgument("ESPALIER_WORLD_SIZE=" + std::to_string(world_size) +
                           " with ESPALIER_PARTITIONS: only the process that opens partitions can use them; expected a "
                           "world size of 1, or ESPALIER_SERVERS");
  }
  context->rank = Rank(static_cast<uint32_t>(rank));
  context->world_size = static_cast<uint32_t>(world_size);
  context->local_address = FindVariable(environment, "ESPALIER_LOCAL_ADDRESS").value_or(context->local_address);
  ASSIGN_OR_RETURN(context->plaintext_to_others, ParseFlag(environment, "ESPALIER_INSECURE_LISTEN_ANY"));
  return Status();
}

}  // namespace

Environment ProcessEnvironment() { return ReadEnvironment(); }

Result<Context> Initialize(const Environment& environment) {
  constexpr uint64_t kYearSeconds = 365 * 24 * 3600;
  Context context;
  RETURN_IF_ERROR(ParseGraphLocation(environment, &context.session));
  const std::vector<std::string> samplers = SplitAtCommas(FindVariable(environment, "ESPALIER_SAMPLERS").value_or(""));
  ASSIGN_OR_RETURN(context.samplers, rpc::ExpandAddresses(samplers).While("ESPALIER_SAMPLERS"));
  context.session.partition_key = FindVariable(environment, "ESPALIER_PARTITION_KEY").value_or("");
  if (FindVariable(environment, "ESPALIER_INCARNATION")) {
    ASSIGN_OR_RETURN(context.session.incarnation,
                     ReadNumber(environment, "ESPALIER_INCARNATION", 0, std::numeric_limits<uint64_t>::max()));
  }
  context.session.job = FindVariable(environment, "ESPALIER_JOB_NAME").value_or("");
  if (!context.session.job.empty()) {
    RETURN_IF_ERROR(graph::CheckName("job", context.session.job).While("ESPALIER_JOB_NAME"));
  }
  const Result<Access> access = ParseAccess(FindVariable(environment, "ESPALIER_ACCESS").value_or("auto"));
  if (!access.ok()) return Status(access.status()).While("ESPALIER_ACCESS");
  context.session.access = *access;
  RETURN_IF_ERROR(ParseRank(environment, &context));
  ASSIGN_OR_RETURN(const uint64_t connect_seconds,
                   ReadNumber(environment, "ESPALIER_CONNECT_SECONDS", 60, kYearSeconds));
  ASSIGN_OR_RETURN(const uint64_t call_seconds, ReadNumber(environment, "ESPALIER_CALL_SECONDS", 600, kYearSeconds));
  context.session.connect_timeout = std::chrono::seconds(connect_seconds);
  context.call_timeout = std::chrono::seconds(call_seconds);
  ASSIGN_OR_RETURN(context.session.channel.tls, LoadTls(environment));
  return context;
}

}  // namespace espalier::client
