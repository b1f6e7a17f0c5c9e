// libtorch does not export oneDNN's functions. It has the operation mkldnn::_linear_pointwise, which torch's compiler
// uses: input [m, k], weight [n, k], bias [n] -> input @ weight.T + bias. If weight.T is contiguous, oneDNN multiplies
// with code that it generates once for all shapes. Otherwise it generates code for every new shape, which takes 0.6 ms,
// and nearly every mini-batch has new shapes.
//
// The operation copies its input unless the input is contiguous. For the gradient of b in MatMul(a, b), the input is a
// transposed matrix, and the operation would copy all of it. MultiplyTransposed copies and multiplies blocks that fit
// in the processor's cache.
#include "services/trainer/ops/matrix_product.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "services/trainer/ops/op_path.h"

namespace espalier::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Rows of a block in MultiplyTransposed. On a processor with 1 MiB of L2 cache for each core, the product of matrices
// of 200 columns takes the same time with blocks of 1,000 to 4,000 rows.
constexpr int64_t kRowsPerBlock = 1024;

using LinearPointwise = at::Tensor(const at::Tensor& input, const at::Tensor& weight,
                                   const std::optional<at::Tensor>& bias, std::string_view activation,
                                   c10::List<std::optional<at::Scalar>> scalars,
                                   std::optional<std::string_view> algorithm);

// Returns the operation, or nullopt if this libtorch does not have it.
const std::optional<c10::OperatorHandle>& FindLinearPointwise() {
  static const auto op = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  return op;
}

// Returns a @ b + bias, without gradients. Shapes as in MatMul.
torch::Tensor Multiply(const torch::Tensor& a, const torch::Tensor& b, const std::optional<torch::Tensor>& bias = {}) {
  if (a.size(0) == 0 || a.size(1) == 0 || b.size(1) == 0) {
    const torch::Tensor zeros = torch::zeros({a.size(0), b.size(1)}, a.options());
    return bias.has_value() ? zeros + *bias : zeros;
  }
  // The operation ignores the strides of the bias.
  return FindLinearPointwise()->typed<LinearPointwise>().call(
      a, b.contiguous().t(), bias.has_value() ? std::optional(bias->contiguous()) : std::nullopt, "none",
      c10::List<std::optional<at::Scalar>>(), "");
}

// Returns a.T @ b, contiguous: a [rows, m], b [rows, n] -> [m, n].
torch::Tensor MultiplyTransposed(const torch::Tensor& a, const torch::Tensor& b) {
  const auto block = [](const torch::Tensor& x, int64_t first) {
    return x.narrow(0, first, std::min(kRowsPerBlock, x.size(0) - first));
  };
  torch::Tensor sum = Multiply(block(a, 0).t(), block(b, 0));
  for (int64_t first = kRowsPerBlock; first < a.size(0); first += kRowsPerBlock) {
    sum.add_(Multiply(block(a, first).t(), block(b, first)));
  }
  return sum;
}

class MatMulFunction : public Function<MatMulFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& a, const torch::Tensor& b,
                               const std::optional<torch::Tensor>& bias) {
    // The gradient of each operand is a product with the other operand.
    context->save_for_backward({b.requires_grad() ? a : torch::Tensor(), a.requires_grad() ? b : torch::Tensor()});
    context->saved_data["has_bias"] = bias.has_value();
    return Multiply(a, b, bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    TORCH_CHECK(!torch::GradMode::is_enabled(), "MatMul has no second derivatives: it was called with create_graph");
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &a = saved[0], &b = saved[1];
    const torch::Tensor gradient = gradients[0].contiguous();
    variable_list results(3);
    if (context->needs_input_grad(0)) results[0] = Multiply(gradient, b.t());
    if (context->needs_input_grad(1)) {
      // Transposing copies a matrix, so the narrower one is transposed.
      results[1] =
          a.size(1) <= gradient.size(1) ? MultiplyTransposed(a, gradient) : MultiplyTransposed(gradient, a).t();
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)) results[2] = gradient.sum(0);
    return results;
  }
};

bool IsF32(const torch::Tensor& x) { return x.scalar_type() == torch::kFloat32; }

}  // namespace

bool HasOneDnn() { return FindLinearPointwise().has_value(); }

torch::Tensor MatMul(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& bias) {
  const bool by_onednn = HasOneDnn() && UsesCpuKernels(a) && IsF32(a) && IsF32(b) && (!bias.defined() || IsF32(bias)) &&
                         !at::autocast::is_autocast_enabled(a.device().type());
  if (!by_onednn) return bias.defined() ? torch::addmm(bias, a, b) : torch::mm(a, b);
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "cannot multiply matrices of the shapes ",
              a.sizes(), " and ", b.sizes());
  TORCH_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == b.size(1)), "the shape of the bias is ",
              bias.sizes(), ", expected [", b.size(1), "]");
  return MatMulFunction::apply(a, b, bias.defined() ? std::optional(bias) : std::nullopt);
}

}  // namespace espalier::trainer
