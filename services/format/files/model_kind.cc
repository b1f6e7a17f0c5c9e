#include "services/format/files/model_kind.h"

namespace espalier::format {

Status CheckIsTorchScript(FileKind kind) {
  if (kind == FileKind::kTorchScript) return Status();
  if (kind == FileKind::kUnknown) {
    return InvalidArgument(
        "is not a TorchScript archive: it does not begin as a zip archive does; torch.jit.script(module).save(PATH) "
        "writes one");
  }
  std::string remedy;
  if (kind == FileKind::kTorchSave || kind == FileKind::kPickle) {
    remedy = ", which only Python can read; load it there and write torch.jit.script(module).save(PATH)";
  } else if (kind == FileKind::kSafetensors) {
    remedy = ": parameters without a program; for a built-in model, set its spec.training.model.type";
  }
  return InvalidArgument("is " + ToString(kind) + remedy + ": expected a TorchScript archive");
}

Status CheckIsModelFile(FileKind kind) {
  if (kind == FileKind::kUnknown || kind == FileKind::kSafetensors) return Status();
  const bool is_script = kind == FileKind::kTorchScript;
  return InvalidArgument("is " + ToString(kind) + ": " +
                         (is_script ? "spec.training.model.type: TorchScript reads it; " : "") +
                         "this type of model reads files of a run in model/ (*.safetensors)" +
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
