// Reads and writes NumPy's .npy files (numpy.lib.format, versions 1 to 3): little-endian, C order.
#pragma once

#include <optional>
#include <string>

#include "services/base/tensor.h"
#include "services/base/work_meter.h"

namespace espalier::format {

// Reads an array. The tensor maps the file if the data is aligned, as NumPy writes it, and is a copy otherwise. Returns
// InvalidArgument for Fortran order, big-endian data, objects, structures, complex numbers, text, and a header that
// does not match the size of the file. NumPy has no bfloat16: `declared` = BF16 reads '<u2' as BF16; any other declared
// dtype must be that of the file.
Result<Tensor> ReadNpy(const std::string& path, std::optional<DType> declared = std::nullopt);

// Writes an array to a new file or over an existing one. BF16 is stored as '<u2'. An error, for example of a full disk,
// leaves an incomplete file. `meter`, unless null, counts the bytes of the data.
Status WriteNpy(const std::string& path, const Tensor& tensor, WorkMeter* meter = nullptr);

}  // namespace espalier::format
