// Reuses the memory of activations and gradients, which take hundreds of megabytes per step. glibc returns such large
// blocks to the system when they are freed, and the page faults of the next step would cost a quarter of its time.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/waits.h"
#include "services/base/buffer_pool.h"
#include "services/base/tensor.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace espalier::python {
namespace {

// All callers hold the interpreter's lock, so a fork never finds the pool locked. Never destroyed: arrays may be
// released while the process exits.
BufferPool& Activations() {
  constexpr size_t kMaxIdleBytes = size_t{1} << 30;  // espalier.nn.set_buffer_limit documents it
  static auto* const buffers = new BufferPool(kMaxIdleBytes);
  return *buffers;
}

// Returns an array whose memory returns to the pool when no array or tensor refers to it.
nb::object Uninitialized(const std::vector<int64_t>& shape, const std::string& dtype_name) {
  const DType dtype = DTypeFromNumpyName(dtype_name);
  const int64_t count = ValueOrThrow(CheckedElementCount(shape, ItemSize(dtype)));
  auto* kept = new std::shared_ptr<std::byte>(Activations().Take(static_cast<size_t>(count) * ItemSize(dtype)));
  const nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::shared_ptr<std::byte>*>(memory); });
  return View(kept->get(), {shape.begin(), shape.end()}, ToNumpyDType(dtype), owner);
}

}  // namespace

void BindBuffers(nb::module_& m) {
  m.def("uninitialized", &Uninitialized, "shape"_a, "dtype"_a);
  m.def(
      "set_buffer_limit", [](uint64_t num_bytes) { Activations().SetMaxIdleBytes(num_bytes); }, "num_bytes"_a);
  m.def("idle_buffer_bytes", [] { return Activations().IdleBytes(); });
}

}  // namespace espalier::python
