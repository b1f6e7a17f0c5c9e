// ScriptModel registers the tensors of the user's module as its own parameters and buffers, under the same names and
// without copies. Optimizer, checkpoints and model files then treat them like those of a built-in model; therefore the
// module's tensors must be dense, contiguous and disjoint. ScriptModel::Call seeds torch's generator and disables the
// graph optimizer, so that runs are repeatable, then runs one layer and checks the result. Buffers that `forward` has
// replaced are copied back (RestoreBuffers). After the last layer of each training step, rank 0 broadcasts its buffers
// (BroadcastBuffers).
#include "services/trainer/model/script_model.h"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <sstream>

#include "services/base/random_purpose.h"
#include "services/format/files/model_kind.h"
#include "services/telemetry/log.h"
#include "services/trainer/model/collective_error.h"
#include "services/trainer/model/model_error.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/model/script_probe.h"
#include "services/trainer/model/torch_error.h"
#include "services/trainer/ops/autocast.h"

namespace espalier::trainer {
namespace {

// In a class derived from Model, the name Module would mean torch::nn::Module.
using ScriptModule = torch::jit::Module;

constexpr const char* kSignature =
    "forward(self, layer: int, x: Dict[str, Tensor], blocks: Dict[str, Tuple[Tensor, Tensor]], "
    "num_rows: Dict[str, int]) -> Dict[str, Tensor]";

c10::TypePtr TensorsByName() { return c10::DictType::create(c10::StringType::get(), c10::TensorType::get()); }
c10::TupleTypePtr BlockType() {
  return c10::TupleType::create(std::vector<c10::TypePtr>{c10::TensorType::get(), c10::TensorType::get()});
}
c10::TypePtr BlocksByName() { return c10::DictType::create(c10::StringType::get(), BlockType()); }
c10::TypePtr NumbersByName() { return c10::DictType::create(c10::StringType::get(), c10::IntType::get()); }

Status CheckSignature(const ScriptModule& module) {
  const auto expected = [](const std::string& found) {
    return InvalidArgument(std::string("expected ") + kSignature + ", found " + found);
  };
  const auto method = module.find_method("forward");
  if (!method.has_value()) return expected("no forward");
  const c10::FunctionSchema& schema = method->function().getSchema();
  const std::vector<c10::TypePtr> arguments = {c10::IntType::get(), TensorsByName(), BlocksByName(), NumbersByName()};
  bool fits = schema.arguments().size() == arguments.size() + 1 && schema.returns().size() == 1 &&
              *schema.returns().front().type() == *TensorsByName();
  for (size_t i = 0; fits && i < arguments.size(); ++i) fits = *schema.arguments()[i + 1].type() == *arguments[i];
  std::ostringstream found;
  found << schema;
  return fits ? Status() : expected(found.str());
}

// Returns whether model files can contain tensors of the dtype.
bool IsSupported(torch::ScalarType type) {
  switch (type) {
    case torch::kBool:
    case torch::kUInt8:
    case torch::kInt8:
    case torch::kInt16:
    case torch::kInt32:
    case torch::kInt64:
    case torch::kHalf:
    case torch::kBFloat16:
    case torch::kFloat32:
    case torch::kFloat64: return true;
    default: return false;
  }
}

torch::Tensor ToLongTensor(const std::vector<uint32_t>& words, torch::Device device) {
  torch::Tensor result = torch::empty({static_cast<int64_t>(words.size())}, torch::kInt64);
  std::copy(words.begin(), words.end(), result.data_ptr<int64_t>());
  return result.to(device);
}

c10::IValue ToIValue(const graph::GraphSchema& schema, const sampler::BatchLayer& edges, torch::Device device) {
  c10::impl::GenericDict blocks(c10::StringType::get(), BlockType());
  for (const sampler::Block& block : edges.blocks) {
    blocks.insert(schema.EdgeType(block.edge_type).Name(),
                  c10::ivalue::Tuple::create(ToLongTensor(block.indptr, device), ToLongTensor(block.indices, device)));
  }
  return blocks;
}

// Returns the error's message without torch's C++ stack. If a module fails, the message states the reason in the last
// line, after the module's traceback. This function repeats that line at the beginning, because programs that show long
// messages may truncate them.
std::string GetMessage(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  std::string text = of_torch == nullptr ? error.what() : of_torch->what_without_backtrace();
  text.resize(text.find_last_not_of(" \n") + 1);
  const size_t end_of_trace = text.rfind('\n');
  if (end_of_trace == std::string::npos || text.find("Traceback of TorchScript") == std::string::npos) return text;
  return text.substr(end_of_trace + 1) + "\n" + text;
}

// Returns the options without the archive, which may be large and is needed only once.
ModelOptions WithoutArchive(ModelOptions options) {
  options.module = nullptr;
  return options;
}

// Memory ranges of tensors: the first byte, and the byte after the last.
using ByteRanges = std::map<const std::byte*, const std::byte*, std::less<>>;

// Inserts the tensor's memory and returns true, or returns false if it overlaps memory inserted before.
bool InsertIfDisjoint(const torch::Tensor& tensor, ByteRanges* ranges) {
  if (tensor.numel() == 0) return true;
  const auto* first = static_cast<const std::byte*>(tensor.data_ptr());
  const std::byte* const end = first + tensor.nbytes();
  const auto next = ranges->lower_bound(first);
  if (next != ranges->end() && std::less<>()(next->first, end)) return false;
  if (next != ranges->begin() && std::less<>()(first, std::prev(next)->second)) return false;
  ranges->emplace(first, end);
  return true;
}

// A buffer of the module: "a.b.c" is the attribute c of the submodule a.b.
struct Buffer {
  ScriptModule owner;
  std::string attribute, name;
  torch::Tensor values;  // shared by the model and the module
};

Buffer MakeBuffer(ScriptModule owner, const std::string& name, const torch::Tensor& values) {
  size_t begin = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
    owner = owner.attr(name.substr(begin, dot - begin)).toModule();
    begin = dot + 1;
  }
  return {std::move(owner), name.substr(begin), name, values};
}

class ScriptModel final : public Model {
 public:
  ScriptModel(const ModelOptions& options, ScriptModule module)
      : Model(options.precision),
        options_(WithoutArchive(options)),
        module_(std::move(module)),
        where_(options.module->where) {}

  // Registers the module's tensors as parameters and buffers of this model, under the same names.
  Status RegisterTensors() {
    ByteRanges seen;
    for (const auto& item : module_.named_parameters()) {
      RETURN_IF_ERROR(CheckTensor(item.name, item.value, &seen));
      if (item.value.requires_grad() && item.value.scalar_type() != torch::kFloat32) {
        return InvalidArgument("parameter '" + item.name + "' is not f32");
      }
      Register(item.name, item.value, item.value.requires_grad());
    }
    for (const auto& item : module_.named_buffers()) {
      RETURN_IF_ERROR(CheckTensor(item.name, item.value, &seen));
      Register(item.name, item.value, false);
      buffers_.push_back(MakeBuffer(module_, item.name, item.value));
    }
    return Status();
  }

  Status FindWidths() { return ProbeWidths(*this, options_, &widths_); }

  int num_layers() const override { return options_.num_layers; }
  int64_t OutputWidth(int layer) const override { return widths_[static_cast<size_t>(layer)]; }

  Result<std::string> Serialize() const {
    try {
      // module_ itself if it is on the CPU; otherwise a copy there, so that programs without a GPU can load it.
      ScriptModule module = device().is_cpu() ? module_ : module_.deepcopy(torch::Device(torch::kCPU));
      module.eval();
      std::ostringstream archive(std::ios::binary);
      module.save(archive);
      return archive.str();
    } catch (const std::exception& error) {
      return Internal(std::string("writing TorchScript: ") + error.what());
    }
  }

 private:
  TypedRows ComputeLayer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs,
                         const LayerRun& run) override {
    const bool is_last = layer + 1 == options_.num_layers;
    TypedRows outputs = IsEmpty(edges) ? MakeEmptyRows(layer, run) : Call(layer, edges, inputs, run);
    if (run.training && is_last && run.collective != nullptr && run.collective->size() > 1) BroadcastBuffers(run);
    return outputs;
  }

  Status CheckTensor(const std::string& name, const torch::Tensor& tensor, ByteRanges* seen) const {
    if (!IsSupported(tensor.scalar_type()) || tensor.layout() != torch::kStrided) {
      return InvalidArgument("'" + name + "' is not a dense tensor of real numbers or booleans");
    }
    if (!tensor.is_contiguous()) return InvalidArgument("'" + name + "' is not contiguous");
    if (!InsertIfDisjoint(tensor, seen)) {
      return InvalidArgument("'" + name + "' shares its memory with another parameter or buffer");
    }
    return Status();
  }

  // Registers a tensor under its dotted name. Adds the submodules in the name that do not exist yet.
  void Register(const std::string& dotted, const torch::Tensor& tensor, bool is_trained) {
    torch::nn::Module* at = this;
    size_t begin = 0;
    for (size_t dot = dotted.find('.'); dot != std::string::npos; dot = dotted.find('.', begin)) {
      const std::string part = dotted.substr(begin, dot - begin);
      if (!at->named_children().contains(part)) at->register_module(part, std::make_shared<torch::nn::Module>(part));
      at = at->named_children()[part].get();
      begin = dot + 1;
    }
    const std::string name = dotted.substr(begin);
    if (is_trained) {
      at->register_parameter(name, tensor);
    } else {
      at->register_buffer(name, tensor);
    }
  }

  static bool IsEmpty(const sampler::BatchLayer& edges) {
    return std::all_of(edges.num_outputs.begin(), edges.num_outputs.end(), [](uint32_t rows) { return rows == 0; });
  }

  // Returns the outputs of a mini-batch in which this rank has no seeds. The module is not called for it.
  TypedRows MakeEmptyRows(int layer, const LayerRun& run) const {
    TypedRows rows(options_.schema.num_node_types());
    for (torch::Tensor& tensor : rows) {
      tensor = torch::zeros({0, OutputWidth(layer)}, device()).set_requires_grad(run.training);
    }
    return rows;
  }

  TypedRows Call(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs, const LayerRun& run) {
    const graph::GraphSchema& schema = options_.schema;
    c10::Dict<std::string, torch::Tensor> x;
    c10::Dict<std::string, int64_t> num_rows;
    for (size_t type = 0; type < schema.num_node_types(); ++type) {
      const int64_t width = layer == 0 ? options_.input_widths[type] : OutputWidth(layer - 1);
      x.insert(schema.node_types()[type], inputs[type].defined()
                                              ? inputs[type]
                                              : torch::empty({int64_t{edges.num_inputs[type]}, width}, device()));
      num_rows.insert(schema.node_types()[type], int64_t{edges.num_outputs[type]});
    }
    const uint32_t rank = run.collective == nullptr ? 0 : run.collective->rank().value;
    const uint64_t seed = RandomKey(run.seed, RandomPurpose::kUserModel, run.epoch, run.step, layer, rank);
    c10::impl::GenericDict written(c10::StringType::get(), c10::TensorType::get());
    // Torch's generator is global, so ranks that are threads of one process must take turns.
    static std::mutex generator;
    const std::lock_guard lock(generator);
    try {
      torch::manual_seed(seed);
      module_.train(run.training);
      // With optimization, the executor rewrites a module after it has profiled some calls. The first steps after a
      // restart would then be rounded differently from the same steps of an uninterrupted run.
      const torch::jit::GraphOptimizerEnabledGuard unoptimized(false);
      written = module_.forward({int64_t{layer}, x, ToIValue(schema, edges, device()), num_rows}).toGenericDict();
      RestoreBuffers(layer);
    } catch (const ModelError&) {
      throw;
    } catch (const std::exception& error) {
      if (IsOutOfMemory(error)) throw ModelError(FromTorchError(error).While("the module in " + where_));
      throw ModelError(MakeError(layer, "fails: " + GetMessage(error)));
    }
    TypedRows outputs(schema.num_node_types());
    for (size_t type = 0; type < outputs.size(); ++type) {
      if (edges.num_outputs[type] == 0) continue;
      const std::string& name = schema.node_types()[type];
      if (!written.contains(name)) throw ModelError(MakeError(layer, "writes no rows of node type '" + name + "'"));
      outputs[type] = WidenRows(written.at(name).toTensor());
      CheckRows(layer, name, edges.num_outputs[type], outputs[type]);
      if (run.training && layer + 1 == options_.num_layers && !outputs[type].requires_grad()) {
        throw ModelError(
            MakeError(layer, "writes rows that depend on no parameter with a gradient: nothing can be learned"));
      }
    }
    return outputs;
  }

  // Converts rows to f32 if autocast has computed them in BF16. Returns other rows unchanged.
  torch::Tensor WidenRows(const torch::Tensor& rows) const {
    const bool is_widened = options_.precision == job::Precision::kBf16 && rows.defined() &&
                            rows.layout() == torch::kStrided && rows.scalar_type() == torch::kBFloat16;
    return is_widened ? ToF32(rows) : rows;
  }

  // If `forward` has replaced a buffer, copies the new tensor's values into the registered tensor and makes the
  // registered tensor the module's buffer again.
  void RestoreBuffers(int layer) {
    const torch::NoGradGuard no_gradient;
    for (Buffer& buffer : buffers_) {
      const c10::IValue now = buffer.owner.attr(buffer.attribute);
      if (now.isTensor() && now.toTensor().is_same(buffer.values)) continue;
      const bool fits = now.isTensor() && now.toTensor().defined() &&
                        now.toTensor().scalar_type() == buffer.values.scalar_type() &&
                        now.toTensor().sizes() == buffer.values.sizes();
      if (!fits) {
        std::ostringstream expected;
        expected << buffer.values.dtype() << " " << buffer.values.sizes();
        throw ModelError(
            MakeError(layer, "gives buffer '" + buffer.name + "' another dtype or shape, expected " + expected.str()));
      }
      buffer.values.copy_(now.toTensor());
      buffer.owner.setattr(buffer.attribute, buffer.values);
    }
  }

  void CheckRows(int layer, const std::string& type, uint32_t num_rows, const torch::Tensor& rows) const {
    const bool fits = rows.defined() && rows.layout() == torch::kStrided && rows.device() == device() &&
                      rows.scalar_type() == torch::kFloat32 && rows.dim() == 2 && rows.size(0) == int64_t{num_rows} &&
                      rows.size(1) > 0 &&
                      (widths_.size() <= static_cast<size_t>(layer) || rows.size(1) == OutputWidth(layer));
    if (fits) return;
    std::ostringstream found;
    if (rows.defined()) {
      found << rows.dtype() << " " << rows.sizes();
      if (rows.layout() != torch::kStrided) found << " (" << rows.layout() << ")";
      if (rows.device() != device()) found << " on " << rows.device();
    } else {
      found << "nothing";
    }
    const std::string width = widths_.size() <= static_cast<size_t>(layer) ? "W" : std::to_string(OutputWidth(layer));
    throw ModelError(MakeError(layer, "writes " + found.str() + " for node type '" + type + "', expected float [" +
                                          std::to_string(num_rows) + ", " + width + "]"));
  }

  Status MakeError(int layer, const std::string& what) const {
    return InvalidArgument("the module in " + where_ + ", layer " + std::to_string(layer) + ", " + what);
  }

  static void SetValues(torch::Tensor buffer, const torch::Tensor& values) {
    const torch::NoGradGuard no_gradient;
    buffer.copy_(values);
  }

  void BroadcastBuffers(const LayerRun& run) const {
    for (const Buffer& buffer : buffers_) {
      if (buffer.values.numel() == 0) continue;
      const torch::Tensor on_host = buffer.values.cpu();  // the buffer itself if it is on the CPU
      const std::span<std::byte> bytes(static_cast<std::byte*>(on_host.data_ptr()), on_host.nbytes());
      const Status status = run.collective->Broadcast(bytes, Rank(0), run.deadline);
      if (!status.ok()) throw CollectiveError(status);
      if (!buffer.values.device().is_cpu()) SetValues(buffer.values, on_host);
    }
  }

  const ModelOptions options_;
  ScriptModule module_;
  const std::string where_;
  std::vector<Buffer> buffers_;
  std::vector<int64_t> widths_;  // by layer; while the module is probed, only of the layers that have run
};

Result<ScriptModule> LoadModule(const ModuleFile& file) {
  RETURN_IF_ERROR(format::CheckIsTorchScript(format::DetectFileKind(std::as_bytes(std::span(file.archive)))));
  try {
    std::istringstream stream(file.archive);
    return torch::jit::load(stream, torch::kCPU);
  } catch (const std::exception& error) {
    return InvalidArgument("is not a TorchScript archive that this libtorch can read: " + GetMessage(error));
  }
}

Result<std::shared_ptr<ScriptModel>> MakeModel(const ScriptModule& module, const ModelOptions& options) {
  try {
    RETURN_IF_ERROR(CheckSignature(module));
    auto model = std::make_shared<ScriptModel>(options, module);
    RETURN_IF_ERROR(model->RegisterTensors());
    return model;
  } catch (const std::exception& error) {  // e.g. a name that torch::nn::Module does not allow
    return InvalidArgument("cannot be converted: " + GetMessage(error));
  }
}

Result<std::shared_ptr<Model>> Make(const ModelOptions& options) {
  ASSIGN_OR_RETURN(const ScriptModule module, LoadModule(*options.module));
  ASSIGN_OR_RETURN(const std::shared_ptr<ScriptModel> model, MakeModel(module, options));
  if (options.trains && GetParameters(*model).empty()) {
    return InvalidArgument("has no parameter with requires_grad: nothing can be learned");
  }
  RETURN_IF_ERROR(model->FindWidths());
  ASSIGN_OR_RETURN(const bool repeatable, IsRepeatable(*model, options));
  if (!repeatable) {
    telemetry::Log(telemetry::Level::kWarning,
                   "two passes of the module give different numbers: runs with it will differ too",
                   {{"module", options.module->where}});
  }
  return std::shared_ptr<Model>(model);
}

}  // namespace

Result<std::shared_ptr<Model>> MakeScriptModel(const ModelOptions& options) {
  if (options.module == nullptr) return InvalidArgument("a TorchScript model needs its module");
  return Make(options).While("spec.training.model.uri: the module in " + options.module->where);
}

Result<std::optional<std::string>> SerializeScriptModel(const Model& model) {
  const auto* scripted = dynamic_cast<const ScriptModel*>(&model);
  if (scripted == nullptr) return std::optional<std::string>();
  ASSIGN_OR_RETURN(std::string archive, scripted->Serialize());
  return std::optional<std::string>(std::move(archive));
}

}  // namespace espalier::trainer
