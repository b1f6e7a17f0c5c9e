#include <dlfcn.h>

#include "services/base/check.h"
#include "services/collective/nccl/testing/fake_nccl.h"

namespace espalier::collective {
namespace {

template <class Function>
void FindControl(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  ESPALIER_CHECK(*function != nullptr) << name;
}

}  // namespace

std::string FakeNcclPath() { return ESPALIER_FAKE_NCCL; }

FakeNccl OpenFakeNccl(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ESPALIER_CHECK(library != nullptr) << path;
  FakeNccl fake;
  FindControl(library, "FakeNcclReset", &fake.FakeNcclReset);
  FindControl(library, "FakeNcclSetVersion", &fake.FakeNcclSetVersion);
  FindControl(library, "FakeNcclFail", &fake.FakeNcclFail);
  FindControl(library, "FakeNcclHoldSums", &fake.FakeNcclHoldSums);
  FindControl(library, "FakeNcclNumBegun", &fake.FakeNcclNumBegun);
  FindControl(library, "FakeNcclNumAlive", &fake.FakeNcclNumAlive);
  FindControl(library, "FakeNcclNumIds", &fake.FakeNcclNumIds);
  fake.FakeNcclReset();
  return fake;
}

}  // namespace espalier::collective
