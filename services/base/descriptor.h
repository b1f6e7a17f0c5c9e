#pragma once

#include <unistd.h>

#include <utility>

#include "services/base/status.h"

namespace espalier {

// Owns a file descriptor and closes it on destruction. Movable; not thread-safe.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    const int number = other.Release();
    Close();
    number_ = number;
    return *this;
  }
  ~Descriptor() { Close(); }

  int get() const { return number_; }  // -1 if none is open
  bool is_open() const { return number_ >= 0; }
  // Returns the descriptor and gives up ownership: the caller closes it.
  int Release() { return std::exchange(number_, -1); }
  void Close() {
    if (number_ >= 0) close(Release());
  }

 private:
  int number_;
};

struct Pipe {
  Descriptor read_end, write_end;
};
// Creates a pipe whose ends are both close-on-exec. Returns the error of pipe2 if it fails.
Result<Pipe> MakePipe();

}  // namespace espalier
