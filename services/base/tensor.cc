// Every tensor with bytes is made by Wrap. Only those of Zeros and Uninitialized, which own memory from malloc, are
// writable. Shapes from files and messages are checked by CheckedElementCount, which returns an error. Zeros and
// Uninitialized call it too and abort on an error; Wrap checks no shape.
#include "services/base/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace espalier {
namespace {

template <class To>
To Load(DType dtype, const std::byte* at) {
  const auto read = [at]<class T>(T) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  };
  switch (dtype) {
    case DType::kBool:
    case DType::kU8: return static_cast<To>(read(uint8_t{}));
    case DType::kI8: return static_cast<To>(read(int8_t{}));
    case DType::kI16: return static_cast<To>(read(int16_t{}));
    case DType::kU16: return static_cast<To>(read(uint16_t{}));
    case DType::kI32: return static_cast<To>(read(int32_t{}));
    case DType::kU32: return static_cast<To>(read(uint32_t{}));
    case DType::kI64: return static_cast<To>(read(int64_t{}));
    case DType::kU64: return static_cast<To>(read(uint64_t{}));
    case DType::kF16: return static_cast<To>(HalfToFloat(read(uint16_t{})));
    case DType::kBF16: return static_cast<To>(BFloat16ToFloat(read(uint16_t{})));
    case DType::kF32: return static_cast<To>(read(float{}));
    case DType::kF64: return static_cast<To>(read(double{}));
  }
  ESPALIER_CHECK(false) << "dtype " << static_cast<int>(dtype);
  return {};
}

// Returns the size in bytes; checks for overflow.
size_t ComputeSizeBytes(DType dtype, std::span<const int64_t> shape) {
  const Result<int64_t> count = CheckedElementCount(shape, ItemSize(dtype));
  ESPALIER_CHECK(count.ok()) << count.status().ToString();
  return static_cast<size_t>(*count) * ItemSize(dtype);
}

// std::bad_alloc with the requested size in its message.
class AllocationError : public std::bad_alloc {
 public:
  explicit AllocationError(size_t size_bytes)
      : text_("cannot allocate a tensor of " + std::to_string(size_bytes) + " bytes") {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

}  // namespace

Tensor Tensor::Zeros(DType dtype, std::vector<int64_t> shape) {
  const size_t size_bytes = ComputeSizeBytes(dtype, shape);
  // calloc, because large zero tensors then cost only address space until they are touched.
  return Own(std::calloc(std::max<size_t>(1, size_bytes), 1), dtype, std::move(shape));
}

Tensor Tensor::Uninitialized(DType dtype, std::vector<int64_t> shape) {
  const size_t size_bytes = ComputeSizeBytes(dtype, shape);
  return Own(std::malloc(std::max<size_t>(1, size_bytes)), dtype, std::move(shape));
}

Tensor Tensor::Own(void* memory, DType dtype, std::vector<int64_t> shape) {
  if (memory == nullptr) throw AllocationError(ComputeSizeBytes(dtype, shape));
  Tensor tensor = Wrap(dtype, std::move(shape), memory, std::shared_ptr<const void>(memory, std::free));
  tensor.writable_ = static_cast<std::byte*>(memory);
  return tensor;
}

Tensor Tensor::Wrap(DType dtype, std::vector<int64_t> shape, const void* data, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.data_ = static_cast<const std::byte*>(data);
  tensor.owner_ = std::move(owner);
  ESPALIER_CHECK(reinterpret_cast<uintptr_t>(data) % ItemSize(dtype) == 0) << "misaligned tensor data";
  return tensor;
}

int64_t Tensor::num_elements() const {
  int64_t count = 1;
  for (const int64_t dimension : shape_) count *= dimension;
  return count;
}

size_t Tensor::row_bytes() const {
  size_t bytes = ItemSize(dtype_);
  for (size_t i = 1; i < shape_.size(); ++i) bytes *= static_cast<size_t>(shape_[i]);
  return bytes;
}

std::byte* Tensor::mutable_bytes() {
  ESPALIER_CHECK(writable_ != nullptr || empty()) << "this tensor's bytes are read-only";
  return writable_;
}

double Tensor::ValueAsDouble(int64_t i) const {
  return Load<double>(dtype_, data_ + static_cast<size_t>(i) * ItemSize(dtype_));
}
int64_t Tensor::ValueAsInt(int64_t i) const {
  return Load<int64_t>(dtype_, data_ + static_cast<size_t>(i) * ItemSize(dtype_));
}

std::string Tensor::ToString() const {
  std::string text = std::string(espalier::ToString(dtype_)) + " [";
  for (size_t i = 0; i < shape_.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape_[i]);
  return text + "]";
}

Result<int64_t> CheckedElementCount(std::span<const int64_t> shape, size_t element_bytes) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return InvalidArgument("shape has a negative dimension: " + std::to_string(dimension));
  }
  int64_t count = 1;
  for (const int64_t dimension : shape) {
    if (__builtin_mul_overflow(count, dimension, &count)) return OutOfRange("shape has 2^63 elements or more");
  }
  if (count > kLimit / static_cast<int64_t>(element_bytes)) return OutOfRange("shape promises more than 2^62 bytes");
  return count;
}

}  // namespace espalier
