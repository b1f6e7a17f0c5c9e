#include "operator/plan/termination_message.h"

#include <algorithm>
#include <cmath>

#include "operator/api/status.h"
#include "operator/kube/json.h"
#include "services/base/sha256.h"

namespace espalier::ctl::plan {
namespace {

using telemetry::TerminationMessage;

constexpr size_t kMaxHashBytes = 128;
constexpr char kEpochs[] = "epochs";  // an entry of "metrics", returned as Termination::epochs

// The hash becomes the name of a folder in a URI that the servers open.
bool IsHash(const std::string& text) {
  return !text.empty() && text.size() <= kMaxHashBytes && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

double NumberAt(const kube::Json& value, std::string_view name) {
  const kube::Json* number = kube::Find(value, {name});
  if (number == nullptr || !number->is_number()) return 0;
  const double found = number->get<double>();
  return std::isfinite(found) ? found : 0;
}

std::optional<TerminationMessage::Partition> FindPartition(const kube::Json& document) {
  const kube::Json* found = kube::Find(document, {"partition"});
  if (found == nullptr) return std::nullopt;
  TerminationMessage::Partition partition;
  partition.hash = kube::StringAt(*found, {"hash"});
  partition.bytes = static_cast<uint64_t>(std::max<int64_t>(0, kube::IntegerAt(*found, {"bytes"}).value_or(0)));
  partition.cut = NumberAt(*found, "cut");
  if (!IsHash(partition.hash)) return std::nullopt;
  return partition;
}

std::string FindScriptDigest(const kube::Json& document) {
  std::string digest = kube::StringAt(document, {"script", "sha256"});
  return IsSha256Hex(digest) ? digest : "";
}

}  // namespace

std::optional<Termination> ParseTermination(std::string_view text) {
  if (text.empty() || text.size() > 2 * telemetry::kMaxTerminationBytes) return std::nullopt;
  const Result<kube::Json> document = kube::ParseJson(text);
  if (!document.ok() || kube::Find(*document, {"exitCode"}) == nullptr) return std::nullopt;
  Termination termination{.message = kube::StringAt(*document, {"message"}),
                          .partition = FindPartition(*document),
                          .script_sha256 = FindScriptDigest(*document),
                          .epochs = {},
                          .metrics = {}};
  if (const kube::Json* metrics = kube::Find(*document, {"metrics"}))
    termination.metrics = api::MetricsFromJson(*metrics);
  if (const auto epochs = kube::IntegerAt(*document, {"metrics", kEpochs}); epochs && *epochs >= 0)
    termination.epochs = *epochs;
  termination.metrics.erase(kEpochs);
  return termination;
}

}  // namespace espalier::ctl::plan
