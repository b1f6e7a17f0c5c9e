#include "services/runner/run/run_state.h"

#include <nlohmann/json.hpp>

#include "services/base/file.h"
#include "services/telemetry/process.h"

namespace espalier::run {
namespace {

constexpr size_t kMaxStateBytes = 16 << 20;

}  // namespace

std::string RunStateJson(const RunState& state) {
  nlohmann::ordered_json document = {
      {"incarnation", state.attempts.incarnation},
      {"attempts", {{"total", state.attempts.total}, {"counted", state.attempts.counted}}},
      {"reason", state.reason},
      {"succeeded", state.succeeded},
      {"processes", nlohmann::ordered_json::object()}};
  for (const auto& [child, pid] : state.processes) document["processes"][ToString(child)] = pid;
  return document.dump(2, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Status WriteRunState(const std::string& path, const RunState& state) {
  return telemetry::WriteFileAtomically(path, RunStateJson(state));
}

Result<RunState> ReadRunState(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxStateBytes);
  if (text.status().code() == StatusCode::kNotFound) return RunState();
  if (!text.ok()) return text.status();
  const auto document = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto fail = [&](const char* what) {
    return InvalidArgument(path + ": " + what + "; remove the file to start without it");
  };
  if (!document.is_object()) return fail("not a JSON object");
  RunState state;
  const auto incarnation = document.find("incarnation");
  if (incarnation == document.end() || !incarnation->is_number_unsigned())
    return fail("incarnation is not a whole number from 0");
  state.attempts.incarnation = incarnation->get<uint64_t>();
  const auto succeeded = document.find("succeeded");
  if (succeeded == document.end() || !succeeded->is_boolean()) return fail("succeeded is not true or false");
  state.succeeded = succeeded->get<bool>();
  return state;
}

}  // namespace espalier::run
