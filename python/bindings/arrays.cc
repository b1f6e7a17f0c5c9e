#include "python/bindings/arrays.h"

#include <cstring>
#include <utility>

#include "python/bindings/waits.h"

namespace nb = nanobind;

namespace espalier::python {
namespace {

struct DTypeEntry {
  DType dtype;
  const char* name;
  nb::dlpack::dtype numpy;
};

nb::dlpack::dtype Half() { return {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1}; }

// BF16 is last, so that a lookup of float32 finds F32.
const std::vector<DTypeEntry>& DTypes() {
  static const std::vector<DTypeEntry> entries = {
      {DType::kBool, "bool", nb::dtype<bool>()},     {DType::kU8, "uint8", nb::dtype<uint8_t>()},
      {DType::kI8, "int8", nb::dtype<int8_t>()},     {DType::kU16, "uint16", nb::dtype<uint16_t>()},
      {DType::kI16, "int16", nb::dtype<int16_t>()},  {DType::kU32, "uint32", nb::dtype<uint32_t>()},
      {DType::kI32, "int32", nb::dtype<int32_t>()},  {DType::kU64, "uint64", nb::dtype<uint64_t>()},
      {DType::kI64, "int64", nb::dtype<int64_t>()},  {DType::kF16, "float16", Half()},
      {DType::kF32, "float32", nb::dtype<float>()},  {DType::kF64, "float64", nb::dtype<double>()},
      {DType::kBF16, "float32", nb::dtype<float>()},
  };
  return entries;
}

const DTypeEntry& FindEntry(DType dtype) {
  for (const DTypeEntry& entry : DTypes()) {
    if (entry.dtype == dtype) return entry;
  }
  throw StatusError(Internal("a dtype without a counterpart in NumPy"));
}

std::vector<size_t> ToShape(const Tensor& tensor) { return {tensor.shape().begin(), tensor.shape().end()}; }

Tensor WidenToFloat32(const Tensor& tensor) {
  Tensor wide = Tensor::Uninitialized(DType::kF32, tensor.shape());
  const auto* narrow = reinterpret_cast<const uint16_t*>(tensor.bytes());
  size_t i = 0;
  for (float& value : wide.mutable_values<float>()) value = BFloat16ToFloat(narrow[i++]);
  return wide;
}

}  // namespace

void CheckIds(const IdArray& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids.data()[i] >= 0) continue;
    throw StatusError(
        InvalidArgument("id " + std::to_string(ids.data()[i]) + " at position " + std::to_string(i) + " is negative"));
  }
}

nb::object View(const void* data, std::vector<size_t> shape, nb::dlpack::dtype dtype, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy>(const_cast<void*>(data), shape.size(), shape.data(), owner,
                                         /*strides=*/nullptr, dtype),
                  nb::rv_policy::reference);
}

nb::object ShareWithNumpy(const Tensor& tensor) {
  if (tensor.dtype() == DType::kBF16) return ShareWithNumpy(WidenToFloat32(tensor));
  auto* kept = new Tensor(tensor);
  const nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<Tensor*>(memory); });
  return View(kept->bytes(), ToShape(*kept), FindEntry(kept->dtype()).numpy, owner);
}

nb::object ToNumpy(const Tensor& tensor) {
  if (tensor.dtype() == DType::kBF16) return ShareWithNumpy(WidenToFloat32(tensor));
  Tensor copy = Tensor::Uninitialized(tensor.dtype(), tensor.shape());
  if (!tensor.empty()) std::memcpy(copy.mutable_bytes(), tensor.bytes(), tensor.size_bytes());
  return ShareWithNumpy(copy);
}

Tensor FromNumpy(const AnyArray& array) {
  for (const DTypeEntry& entry : DTypes()) {
    if (!(array.dtype() == entry.numpy)) continue;
    std::vector<int64_t> shape;
    for (size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<int64_t>(array.shape(i)));
    Tensor tensor = Tensor::Uninitialized(entry.dtype, std::move(shape));
    if (!tensor.empty()) std::memcpy(tensor.mutable_bytes(), array.data(), tensor.size_bytes());
    return tensor;
  }
  throw StatusError(
      InvalidArgument("an array of this dtype cannot be stored; expected bool, an integer, float16, "
                      "float32 or float64"));
}

std::string NumpyName(DType dtype) { return FindEntry(dtype).name; }

nb::dlpack::dtype ToNumpyDType(DType dtype) { return FindEntry(dtype).numpy; }

DType DTypeFromNumpyName(const std::string& name) {
  for (const DTypeEntry& entry : DTypes()) {
    if (name == entry.name) return entry.dtype;
  }
  throw StatusError(InvalidArgument("dtype '" + name +
                                    "' cannot be stored; expected bool, an integer, float16, "
                                    "float32 or float64"));
}

}  // namespace espalier::python
