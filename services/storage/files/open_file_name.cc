#include "services/storage/files/open_file_name.h"

#include <sys/stat.h>

namespace espalier::storage {

bool NamesOpenFile(const std::filesystem::path& path, int descriptor) {
  struct stat open_file {};
  struct stat named_file {};
  return fstat(descriptor, &open_file) == 0 && stat(path.c_str(), &named_file) == 0 &&
         open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
}

}  // namespace espalier::storage
