#include "services/format/files/model_kind.h"

namespace espalier::format {

Status CheckIsTorchScript(FileKind kind) {
  if (kind == FileKind::kTorchScript) return Status();
  if (kind == FileKind::kUnknown) {
    return InvalidArgument(
        "is not a TorchScript archive: it does not begin like a zip archive; torch.jit.script(module).save(PATH) "
        "writes a TorchScript archive");
  }
  std::string remedy;
  if (kind == FileKind::kTorchSave || kind == FileKind::kPickle) {
    remedy = "; load the file in Python and write the module with torch.jit.script(module).save(PATH)";
  } else if (kind == FileKind::kSafetensors) {
    remedy =
        "; a safetensors file has parameters, but no program: if they are of a built-in model, set "
        "spec.training.model.type to its type";
  }
  return InvalidArgument("is " + ToString(kind) + ": expected a TorchScript archive" + remedy);
}

Status CheckIsModelFile(FileKind kind) {
  if (kind == FileKind::kUnknown || kind == FileKind::kSafetensors) return Status();
  const bool is_script = kind == FileKind::kTorchScript;
  return InvalidArgument("is " + ToString(kind) + ": " +
                         (is_script ? "set spec.training.model.type to TorchScript to use it; " : "") +
                         "built-in models read files that a run wrote to model/ (*.safetensors)" +
                         (is_script ? "" : "; for your own PyTorch module, use type TorchScript"));
}

Status CheckIsModelFile(const std::map<std::string, std::string>& metadata) {
  const auto format = metadata.find("format");
  if (format != metadata.end() && format->second == "espalier-model-1") return Status();
  return InvalidArgument(
      "is not an Espalier model file: expected \"format\": \"espalier-model-1\" in its metadata, as in "
      "model/*.safetensors of a run");
}

}  // namespace espalier::format
