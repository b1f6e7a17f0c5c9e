// Reads through a file descriptor rather than a std::ifstream, whose iterator throws when read() fails.
#include "services/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "services/base/descriptor.h"

namespace espalier {
namespace {

Result<std::string> ReadToEnd(int descriptor, const std::string& path, size_t max_bytes, FileKinds kinds) {
  struct stat state {};
  if (fstat(descriptor, &state) != 0) return FromErrno(errno, "reading " + path);
  if (S_ISDIR(state.st_mode)) return InvalidArgument(path + " is a folder: expected a file");
  if (kinds == FileKinds::kRegular && !S_ISREG(state.st_mode)) return InvalidArgument(path + " is not a regular file");
  std::string text;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FromErrno(errno, "reading " + path);
    if (count == 0) return text;
    if (static_cast<size_t>(count) > max_bytes - text.size()) {
      return InvalidArgument(path + " is longer than " + std::to_string(max_bytes) + " bytes");
    }
    text.append(buffer.data(), static_cast<size_t>(count));
  }
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, size_t max_bytes, FileKinds kinds) {
  // Without O_NONBLOCK, open() of a pipe would wait for a writer.
  const int nonblocking = kinds == FileKinds::kRegular ? O_NONBLOCK : 0;
  int number = -1;
  do {
    number = open(path.c_str(), O_RDONLY | O_CLOEXEC | nonblocking);
  } while (number < 0 && errno == EINTR);
  const Descriptor file(number);
  if (!file.is_open()) return FromErrno(errno, "opening " + path);
  return ReadToEnd(file.get(), path, max_bytes, kinds);
}

}  // namespace espalier
