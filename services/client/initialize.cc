#include "services/client/initialize.h"

#include <unistd.h>

#include <charconv>
#include <limits>
#include <optional>

namespace espalier::client {
namespace {

std::optional<std::string> Find(const Environment& environment, const std::string& name) {
  const auto variable = environment.find(name);
  if (variable == environment.end() || variable->second.empty()) return std::nullopt;
  return variable->second;
}

Result<uint64_t> Number(const Environment& environment, const std::string& name, uint64_t absent, uint64_t largest) {
  const std::optional<std::string> text = Find(environment, name);
  if (!text) return absent;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number > largest) {
    return InvalidArgument(name + "='" + *text + "' is not an integer from 0 to " + std::to_string(largest));
  }
  return number;
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

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

Result<Context> Initialize(const Environment& environment) {
  constexpr uint64_t kYearSeconds = 365 * 24 * 3600;
  constexpr uint64_t kMaxRank = std::numeric_limits<uint32_t>::max();
  Context context;
  context.session.addresses = SplitAtCommas(Find(environment, "ESPALIER_SERVERS").value_or(""));
  if (context.session.addresses.empty()) {
    return InvalidArgument("ESPALIER_SERVERS is not set: expected host:port of each partition's graph server");
  }
  context.session.partition_key = Find(environment, "ESPALIER_PARTITION_KEY").value_or("");
  if (Find(environment, "ESPALIER_INCARNATION")) {
    ASSIGN_OR_RETURN(context.session.incarnation,
                     Number(environment, "ESPALIER_INCARNATION", 0, std::numeric_limits<uint64_t>::max()));
  }
  context.session.job = Find(environment, "ESPALIER_JOB_NAME").value_or("");
  if (!context.session.job.empty()) {
    RETURN_IF_ERROR(graph::CheckName("job", context.session.job).While("ESPALIER_JOB_NAME"));
  }
  const Result<Access> access = ParseAccess(Find(environment, "ESPALIER_ACCESS").value_or("auto"));
  if (!access.ok()) return Status(access.status()).While("ESPALIER_ACCESS");
  context.session.access = *access;
  ASSIGN_OR_RETURN(const uint64_t world_size, Number(environment, "ESPALIER_WORLD_SIZE", 1, kMaxRank));
  ASSIGN_OR_RETURN(const uint64_t rank, Number(environment, "ESPALIER_RANK", 0, kMaxRank));
  if (rank >= world_size) {
    return InvalidArgument("ESPALIER_RANK=" + std::to_string(rank) +
                           " is not below ESPALIER_WORLD_SIZE=" + std::to_string(world_size));
  }
  context.rank = Rank(static_cast<uint32_t>(rank));
  context.world_size = static_cast<uint32_t>(world_size);
  ASSIGN_OR_RETURN(const uint64_t connect_seconds, Number(environment, "ESPALIER_CONNECT_SECONDS", 60, kYearSeconds));
  ASSIGN_OR_RETURN(const uint64_t call_seconds, Number(environment, "ESPALIER_CALL_SECONDS", 600, kYearSeconds));
  context.session.connect_timeout = std::chrono::seconds(connect_seconds);
  context.call_timeout = std::chrono::seconds(call_seconds);
  return context;
}

}  // namespace espalier::client
