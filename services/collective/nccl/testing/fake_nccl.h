// Controls of the fake NCCL (fake_nccl.cc), a shared library that tests open in place of NCCL and of CUDA's runtime.
#pragma once

#include <string>

namespace espalier::collective {

// What the fake does; functions of its shared library, which all ranks of a process share. Thread-safe.
struct FakeNccl {
  // Restores the defaults and forgets all communicators.
  void (*FakeNcclReset)() = nullptr;
  // What ncclGetVersion returns, instead of 22809.
  void (*FakeNcclSetVersion)(int version) = nullptr;
  // The state of this rank's communicator from the start (`when` = 0) or from its first sum (1) on, instead of success.
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

// Opens the controls of the library, or of a copy of it, which has a state of its own, and resets it.
FakeNccl OpenFakeNccl(const std::string& path = FakeNcclPath());

}  // namespace espalier::collective
