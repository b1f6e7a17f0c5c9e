#include "services/storage/s3/small_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace espalier::storage {

Result<std::string> ReadSmallFile(const std::string& path) {
  constexpr size_t kMaxBytes = size_t{1} << 20;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return FromErrno(errno, "opening " + path);
  std::string text(kMaxBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return FromErrno(errno, "reading " + path);
  if (text.size() > kMaxBytes) return FailedPrecondition(path + " is longer than 1 MiB");
  while (!text.empty() && std::strchr(" \t\r\n", text.back()) != nullptr) text.pop_back();
  if (text.empty()) return FailedPrecondition(path + " is empty");
  return text;
}

}  // namespace espalier::storage
