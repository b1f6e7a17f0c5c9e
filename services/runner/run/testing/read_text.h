// What a run has left, as tests read it.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace espalier::run {

// "" where there is no such file.
inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace espalier::run
