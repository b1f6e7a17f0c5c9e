// .npz files: reads the zip directory, inflates each member and parses its .npy header.
#include <cstddef>
#include <cstdint>

#include "services/base/check.h"
#include "services/format/source/npz_file.h"
#include "services/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const espalier::fuzz::InputFile file(data, size);
  const auto archive = espalier::format::NpzFile::Open(file.path());
  if (!archive.ok()) {
    ESPALIER_CHECK(!archive.status().message().empty());
    return 0;
  }
  for (const std::string& name : archive->Names()) {
    ESPALIER_CHECK(archive->Has(name) && !name.empty());
    (void)archive->Read(name);
  }
  ESPALIER_CHECK(!archive->Read("").ok());
  return 0;
}
