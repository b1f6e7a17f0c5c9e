// What a graph is called whose source does not say.
#pragma once

#include <filesystem>
#include <string>

namespace espalier::format {

// The last part of a path: "cora" of "data/cora/".
inline std::string SourceName(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return "graph";
  return (absolute / "").lexically_normal().parent_path().filename().string();
}

}  // namespace espalier::format
