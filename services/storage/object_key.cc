#include "services/storage/object_key.h"

#include <algorithm>

namespace espalier::storage {
namespace {

// Returns what is wrong with a part of a key, or null.
const char* FindPartProblem(std::string_view part) {
  if (part.empty() || part == "." || part == "..") return "has an empty, '.' or '..' part";
  if (part.starts_with(kTemporaryPrefix)) return "has a part that starts with '.espalier-', which is reserved";
  return nullptr;
}

// Returns what is wrong with a key, or null.
const char* FindKeyProblem(std::string_view key) {
  if (key.size() > kMaxKeyBytes) return "is longer than 1024 bytes";
  if (key.find('\0') != std::string_view::npos || key.find('\\') != std::string_view::npos) {
    return "has a NUL byte or a backslash";
  }
  for (size_t begin = 0; begin <= key.size();) {
    const size_t end = std::min(key.find('/', begin), key.size());
    if (const char* problem = FindPartProblem(key.substr(begin, end - begin)); problem != nullptr) return problem;
    begin = end + 1;
  }
  return nullptr;
}

}  // namespace

Status CheckKey(const std::string& key) {
  const char* const problem = FindKeyProblem(key);
  if (problem == nullptr) return Status();
  return InvalidArgument("object key '" + key.substr(0, kMaxKeyBytes) + "' " + problem);
}

Status CheckPrefix(const std::string& prefix) {
  // A prefix is valid if it is a valid key or can be extended to one.
  const char* const problem = FindKeyProblem(prefix + "x");
  if (problem == nullptr || FindKeyProblem(prefix) == nullptr) return Status();
  return InvalidArgument("prefix of object keys '" + prefix.substr(0, kMaxKeyBytes) + "' " + problem);
}

std::string JoinKey(std::string_view prefix, std::string_view key) {
  if (prefix.empty()) return std::string(key);
  return std::string(prefix) + "/" + std::string(key);
}

std::string FolderPrefix(std::string_view prefix) { return prefix.empty() ? "" : std::string(prefix) + "/"; }

}  // namespace espalier::storage
