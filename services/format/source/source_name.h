// The default name of a graph whose source does not have a name.
#pragma once

#include <filesystem>
#include <string>

namespace espalier::format {

// Returns the last component of a path: "cora" for "data/cora/". Returns "graph" if the path cannot be made absolute.
inline std::string SourceName(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return "graph";
  return (absolute / "").lexically_normal().parent_path().filename().string();
}

}  // namespace espalier::format
