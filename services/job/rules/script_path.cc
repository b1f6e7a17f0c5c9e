#include "services/job/rules/script_path.h"

#include <algorithm>

#include "services/job/dist_training.h"

namespace espalier::job {
namespace {

constexpr char kPython[] = "python3";
constexpr std::string_view kArchiveExtensions[] = {".tar", ".tar.gz", ".tgz", ".zip"};

}  // namespace

std::string Script::FileName() const { return config_map.empty() ? uri.substr(uri.find_last_of('/') + 1) : key; }

std::string Script::Describe() const { return config_map.empty() ? uri : "ConfigMap " + config_map + ", key " + key; }

bool IsArchiveName(std::string_view name) {
  return std::any_of(std::begin(kArchiveExtensions), std::end(kArchiveExtensions),
                     [name](std::string_view extension) { return name.ends_with(extension); });
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

}  // namespace espalier::job
