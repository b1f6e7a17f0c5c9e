#include "services/runner/launch/log_follower.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace espalier::launch {
namespace {

constexpr uint64_t kMaxBytes = 256 << 10;

}  // namespace

LogFollower::LogFollower(std::string path) : path_(std::move(path)) { offset_ = Size(); }

uint64_t LogFollower::Size() const {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path_, error);
  return error ? 0 : size;
}

std::string LogFollower::ReadAt(uint64_t offset, uint64_t bytes) const {
  std::ifstream file(path_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

std::string LogFollower::Read() {
  const uint64_t size = Size();
  if (size <= offset_) return {};
  std::string text = ReadAt(offset_, std::min(size - offset_, kMaxBytes));
  offset_ += text.size();
  return text;
}

std::string LogFollower::ReadEnd() {
  const uint64_t size = Size();
  if (size <= offset_ + kMaxBytes) return Read();
  const uint64_t left_out = size - offset_ - kMaxBytes;
  offset_ = size - kMaxBytes;
  return "\n[" + std::to_string(left_out) + " bytes are omitted here: the complete log is " + path_ + "]\n" + Read();
}

}  // namespace espalier::launch
