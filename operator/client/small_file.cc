#include "operator/client/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "services/base/descriptor.h"

namespace espalier::ctl::client {

Result<std::string> ReadSmallFile(const std::string& path, size_t max_bytes) {
  const std::string doing = "reading " + path;
  // Not blocking: opening a pipe would wait for its writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return FromErrno(errno, doing);
  struct stat state {};
  if (fstat(file.get(), &state) != 0) return FromErrno(errno, doing);
  if (!S_ISREG(state.st_mode)) return InvalidArgument(doing + ": not a regular file");
  std::string text;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FromErrno(errno, doing);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > max_bytes) {
      return ResourceExhausted(doing + ": longer than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

}  // namespace espalier::ctl::client
