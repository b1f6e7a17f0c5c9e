#include "services/storage/s3/small_file.h"

#include <cstring>

#include "services/base/file.h"

namespace espalier::storage {

Result<std::string> ReadSmallFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(path, size_t{1} << 20));
  while (!text.empty() && std::strchr(" \t\r\n", text.back()) != nullptr) text.pop_back();
  if (text.empty()) return FailedPrecondition(path + " is empty");
  return text;
}

}  // namespace espalier::storage
