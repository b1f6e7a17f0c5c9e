#include "services/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace espalier::internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  stream_ << file << ":" << line << ": check failed: " << condition << " ";
}

CheckFailure::~CheckFailure() {
  const std::string message = stream_.str() + "\n";
  std::fputs(message.c_str(), stderr);
  std::abort();
}

}  // namespace espalier::internal
