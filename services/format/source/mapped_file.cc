#include "services/format/source/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "services/base/descriptor.h"

namespace espalier::format {
Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));  // closed on return; the mapping remains valid
  if (!file.is_open()) return FromErrno(errno, "opening " + path);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return FromErrno(errno, "reading " + path);
  if (!S_ISREG(status.st_mode)) return InvalidArgument(path + " is not a file");
  const auto size_bytes = static_cast<size_t>(status.st_size);
  if (size_bytes == 0) return std::shared_ptr<const MappedFile>(new MappedFile({}));
  void* address = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return FromErrno(errno, "mapping " + path);
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::byte*>(address), size_bytes}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace espalier::format
