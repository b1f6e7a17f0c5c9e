#include "services/format/source/npy_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "services/base/write_all.h"
#include "services/format/files/mapped_file.h"
#include "services/format/files/npy_header.h"

namespace espalier::format {
namespace {

Status WriteMetered(int file, std::span<const std::byte> bytes, const std::string& path, WorkMeter* meter) {
  constexpr size_t kMaxWrite = 1 << 24;  // updates the meter every 16 MiB
  while (!bytes.empty()) {
    const auto chunk = bytes.first(std::min(bytes.size(), kMaxWrite));
    RETURN_IF_ERROR(WriteAll(file, chunk, path));
    AddDone(meter, chunk.size());
    bytes = bytes.subspan(chunk.size());
  }
  return {};
}

Result<Tensor> MakeTensor(const std::shared_ptr<const MappedFile>& file, std::optional<DType> declared) {
  ASSIGN_OR_RETURN(NpyHeader header, ParseNpyHeader(file->bytes()));
  ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(header.shape, ItemSize(header.dtype)));
  const uint64_t promised = static_cast<uint64_t>(count) * ItemSize(header.dtype);
  const uint64_t present = file->bytes().size() - header.data_offset;
  if (promised != present) {
    return InvalidArgument("the header promises " + std::to_string(promised) + " bytes of data, the file has " +
                           std::to_string(present));
  }
  RETURN_IF_ERROR(ApplyDeclaredDType(declared, &header));
  const std::byte* data = file->bytes().data() + header.data_offset;
  if (reinterpret_cast<uintptr_t>(data) % ItemSize(header.dtype) == 0) {
    return Tensor::Wrap(header.dtype, std::move(header.shape), data, file);
  }
  Tensor copy = Tensor::Zeros(header.dtype, std::move(header.shape));
  if (promised > 0) std::memcpy(copy.mutable_bytes(), data, promised);
  return copy;
}

}  // namespace

Result<Tensor> ReadNpy(const std::string& path, std::optional<DType> declared) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  return MakeTensor(file, declared).While("reading " + path);
}

Status WriteNpy(const std::string& path, const Tensor& tensor, WorkMeter* meter) {
  ASSIGN_OR_RETURN(const std::string header, FormatNpyHeader(tensor.dtype(), tensor.shape()).While("writing " + path));
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return FromErrno(errno, "creating " + path);
  Status status = WriteAll(file, header, path);
  if (status.ok()) status = WriteMetered(file, tensor.byte_span(), path, meter);
  // Some file systems report a full disk only when the file is closed.
  if (close(file) != 0 && status.ok()) status = FromErrno(errno, "writing " + path);
  return status;
}

}  // namespace espalier::format
