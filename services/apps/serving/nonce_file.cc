#include "services/apps/serving/nonce_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <utility>

#include "services/base/hash.h"

namespace espalier::serving {
namespace {

std::string RandomHex() {
  std::random_device device;
  std::string hex;
  for (int i = 0; i < 4; ++i) hex += HexOf(uint64_t{device()} << 32 | device());
  return hex;
}

}  // namespace

NonceFile::NonceFile(std::string path, std::string nonce) : path_(std::move(path)), nonce_(std::move(nonce)) {}
NonceFile::NonceFile(NonceFile&& other) noexcept
    : path_(std::exchange(other.path_, "")), nonce_(std::move(other.nonce_)) {}
NonceFile::~NonceFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<NonceFile> NonceFile::Create(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(folder, error);
  if (error) return FromErrno(error.value(), "resolving " + folder);
  const std::string path = (absolute / (".espalier-nonce-" + RandomHex().substr(0, 16))).string();
  const std::string nonce = RandomHex();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return FromErrno(errno, "creating " + path);
  const ssize_t written = ::write(file, nonce.data(), nonce.size());
  const int write_error = errno;
  ::close(file);
  NonceFile created(path, nonce);
  if (written != static_cast<ssize_t>(nonce.size())) return FromErrno(write_error, "writing " + path);
  return created;
}

}  // namespace espalier::serving
