#pragma once

#include <unistd.h>

#include <utility>

#include "services/base/status.h"

namespace espalier {

// Owns a file descriptor, and closes it at the end of the scope. Movable.
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

  int get() const { return number_; }  // -1: none
  bool is_open() const { return number_ >= 0; }
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
// Both ends close-on-exec.
Result<Pipe> MakePipe();

}  // namespace espalier
