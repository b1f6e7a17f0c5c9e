// Controls of the fake NCCL (fake_nccl.cc), a shared library that tests open in place of NCCL and of CUDA's runtime.
#pragma once

#include <string>

namespace espalier::collective {

// Functions of the fake's shared library, which all ranks of a process share. Thread-safe.
struct FakeNccl {
  // Restores the defaults and forgets all communicators.
  void (*FakeNcclReset)() = nullptr;
  // Sets the version that ncclGetVersion returns, by default 22809.
  void (*FakeNcclSetVersion)(int version) = nullptr;
  // Makes the communicator of `rank` report the state `result` instead of success: always if `when` is 0, from its
  // first sum on if `when` is 1.
  void (*FakeNcclFail)(int rank, int when, int result) = nullptr;
  // From now on sums do not end, as if a GPU hung.
  void (*FakeNcclHoldSums)() = nullptr;
  // Returns the number of sums that ranks have begun since the reset.
  int (*FakeNcclNumBegun)() = nullptr;
  // Returns the number of communicators that were not aborted.
  int (*FakeNcclNumAlive)() = nullptr;
  // Returns the number of ids that were made since the reset.
  int (*FakeNcclNumIds)() = nullptr;
};

// Returns the path of the library, which is built beside the tests.
std::string FakeNcclPath();

// Opens the controls of the library at `path` and resets it. Each copy of the library has a state of its own.
FakeNccl OpenFakeNccl(const std::string& path = FakeNcclPath());

}  // namespace espalier::collective
