// The default name of a graph whose source does not have a name.
#pragma once

#include <filesystem>
#include <string>

namespace espalier::format {

// Returns the last component of `path` after making it absolute: "cora" for "data/cora/", and for "." in that folder.
// Returns "graph" if it cannot be made absolute or is "/".
inline std::string SourceName(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return "graph";
  const std::string name = (absolute / "").lexically_normal().parent_path().filename().string();
  return name.empty() ? "graph" : name;
}

}  // namespace espalier::format
