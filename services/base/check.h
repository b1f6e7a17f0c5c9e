// ESPALIER_CHECK(condition) << "words": for what only a bug of ours can make false. It prints the place and
// ends the process with SIGABRT. What the world can cause is a Status (status.h), never a check.
// (Prefixed, because libtorch's headers define a CHECK of their own.)
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

// Lets the macro be an expression of type void on both branches.
struct Voidify {
  void operator&(std::ostream&) {}
};

}  // namespace espalier::internal

#define ESPALIER_CHECK(condition)                   \
  __builtin_expect(static_cast<bool>(condition), 1) \
      ? static_cast<void>(0)                        \
      : ::espalier::internal::Voidify() & ::espalier::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()
