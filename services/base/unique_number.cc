#include "services/base/unique_number.h"

#include <random>

namespace espalier {

uint64_t UniqueNumber() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace espalier
