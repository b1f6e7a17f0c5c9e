#include "services/job/checks/script_checks.h"

#include <algorithm>

#include "services/base/sha256.h"

namespace espalier::job {
namespace {

constexpr char kPython[] = "python3";
constexpr std::string_view kArchiveEnds[] = {".tar", ".tar.gz", ".tgz", ".zip"};

// Returns false for a URI that ends in '/', which is a folder, and for "s3://bucket", which is a bucket.
bool NamesAFile(std::string_view uri) {
  constexpr std::string_view kS3 = "s3://";
  const bool is_bucket = uri.starts_with(kS3) && uri.find('/', kS3.size()) == std::string_view::npos;
  return !uri.ends_with('/') && !is_bucket;
}

}  // namespace

std::string Script::FileName() const { return config_map.empty() ? uri.substr(uri.find_last_of('/') + 1) : key; }

std::string Script::Describe() const { return config_map.empty() ? uri : "ConfigMap " + config_map + ", key " + key; }

bool IsArchiveName(std::string_view name) {
  return std::any_of(std::begin(kArchiveEnds), std::end(kArchiveEnds),
                     [name](std::string_view end) { return name.ends_with(end); });
}

std::vector<std::string> Program::CommandWords(const std::string& script_folder) const {
  std::vector<std::string> words = command;
  if (!script) return words;
  if (words.empty()) words.emplace_back(kPython);
  words.push_back(script_folder + "/" + script->MainFile());
  return words;
}

std::vector<std::string> Program::Words(const std::string& script_folder) const {
  std::vector<std::string> words = CommandWords(script_folder);
  words.insert(words.end(), args.begin(), args.end());
  return words;
}

bool IsPathWithin(std::string_view path) {
  const bool is_plain =
      std::none_of(path.begin(), path.end(), [](unsigned char c) { return c < ' ' || c == 0x7f || c == '\\'; });
  while (is_plain) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
  return false;
}

std::vector<std::pair<std::string, std::string>> ScriptProblems(const Program& program) {
  const Script& script = *program.script;
  std::vector<std::pair<std::string, std::string>> problems;
  if (script.uri.empty() == script.config_map.empty()) {
    problems.emplace_back("script", "expected either uri or configMapKeyRef");
    return problems;  // the other checks need to know which of the two is used
  }
  if (!script.uri.empty() && !NamesAFile(script.uri)) {
    problems.emplace_back("script.uri", "names a folder: expected one file or archive");
  }
  if (!script.sha256.empty() && !IsSha256Hex(script.sha256)) {
    problems.emplace_back("script.sha256", "expected 64 lower-case hexadecimal digits, as sha256sum prints them");
  }
  if (IsArchiveName(script.FileName()) != !script.entrypoint.empty()) {
    problems.emplace_back("script.entrypoint",
                          script.entrypoint.empty()
                              ? "is missing: expected the path of the file in the archive that is run"
                              : "only an archive (*.tar, *.tar.gz, *.tgz, *.zip) has several files: leave it out");
  }
  if (!script.entrypoint.empty() && !IsPathWithin(script.entrypoint)) {
    problems.emplace_back("script.entrypoint",
                          "expected a relative path without empty, '.' or '..' parts and backslashes");
  }
  if (program.command.empty() && !script.MainFile().ends_with(".py")) {
    problems.emplace_back("command", "is missing: only a script *.py is run by python3 without it");
  }
  return problems;
}

}  // namespace espalier::job
