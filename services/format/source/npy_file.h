// NumPy's .npy files (numpy.lib.format, versions 1 to 3): little-endian, C order.
#pragma once

#include <optional>
#include <string>

#include "services/base/tensor.h"
#include "services/base/work_meter.h"

namespace espalier::format {

// The tensor maps the file where the data is aligned (numpy aligns it). Refused by name: Fortran order, big-endian,
// objects, structures, complex numbers, text, and a header that does not fit the file's size. NumPy has no
// bfloat16: `declared` = BF16 takes '<u2' for it; any other declared dtype must be the file's.
Result<Tensor> ReadNpy(const std::string& path, std::optional<DType> declared = std::nullopt);

// BF16 becomes '<u2'. Creates or overwrites; an error (disk full) leaves a part of the file. `meter`, unless null,
// counts the bytes that are written.
Status WriteNpy(const std::string& path, const Tensor& tensor, WorkMeter* meter = nullptr);

}  // namespace espalier::format
