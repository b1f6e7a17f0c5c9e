// ESPALIER_CHECK(condition) << "message" guards conditions that only a bug in Espalier can make false. A failed check
// prints the source location and ends the process with SIGABRT. Errors caused by input, peers or the system are
// returned as a Status (status.h). The macro has a prefix because libtorch's headers define CHECK.
#pragma once

#include <sstream>

namespace espalier::internal {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Gives both branches of the macro's conditional expression the type void.
struct Voidify {
  void operator&(std::ostream&) {}
};

}  // namespace espalier::internal

#define ESPALIER_CHECK(condition)                   \
  __builtin_expect(static_cast<bool>(condition), 1) \
      ? static_cast<void>(0)                        \
      : ::espalier::internal::Voidify() & ::espalier::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()
