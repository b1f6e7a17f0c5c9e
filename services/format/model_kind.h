// What kind of file a model needs, and what to do about a file of another kind. Needs no torch.
#pragma once

#include <map>
#include <string>

#include "services/format/foreign_file.h"

namespace espalier::format {

// InvalidArgument where the file is no TorchScript archive, with what it is and the remedy: "is a file of torch.save,
// which needs the Python that wrote it; ...". The caller adds which file.
Status CheckIsTorchScript(FileKind kind);

// The same for a model file of Espalier's own, which is safetensors. OK for kUnknown too: the reader of its header says
// more.
Status CheckIsModelFile(FileKind kind);

// The same for the metadata of a safetensors file.
Status CheckIsModelFile(const std::map<std::string, std::string>& metadata);

}  // namespace espalier::format
