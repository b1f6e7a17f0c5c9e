#include "services/job/text/read_document.h"

#include "services/base/file.h"

namespace espalier::job {
namespace {

constexpr size_t kMaxDocumentBytes = 4 << 20;

}  // namespace

Result<std::string> ReadDocument(const std::string& path) {
  return ReadFile(path, kMaxDocumentBytes).While("reading the job document");
}

Result<std::vector<std::pair<std::string, std::string>>> ParseSettings(const std::vector<std::string>& settings) {
  std::vector<std::pair<std::string, std::string>> overrides;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument("--set " + setting + ": expected path=value, as in --set training.epochs=3");
    }
    overrides.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return overrides;
}

}  // namespace espalier::job
