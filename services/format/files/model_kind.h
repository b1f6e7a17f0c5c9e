// Checks that a file is a model of the required kind. Errors name the kind that was found and the remedy. Does not
// depend on torch.
#pragma once

#include <map>
#include <string>

#include "services/format/files/foreign_file.h"

namespace espalier::format {

// Returns InvalidArgument if the file is not a TorchScript archive. The message has the kind of the file and the
// remedy: "is a file of torch.save: expected a TorchScript archive; ...". The caller prepends the name of the file,
// here and below.
Status CheckIsTorchScript(FileKind kind);

// Returns InvalidArgument if the file cannot be a model file written by Espalier, which is a safetensors file. Returns
// OK for kUnknown: ReadSafetensors gives a more specific error.
Status CheckIsModelFile(FileKind kind);

// Returns InvalidArgument if the metadata of a safetensors file is not that of a model file written by Espalier.
Status CheckIsModelFile(const std::map<std::string, std::string>& metadata);

}  // namespace espalier::format
