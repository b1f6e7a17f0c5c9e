// oneDNN's own functions are not exported by libtorch. The operation mkldnn::_linear_pointwise is, which torch's
// compiler uses: input [m, k], weight [n, k], bias [n], to input @ weight.T + bias. If weight.T is contiguous, oneDNN
// multiplies with code that it generates once for all shapes. Otherwise it generates code for every new shape, which
// takes as long as a small product, and the shapes of mini-batches are always new.
//
// The operation copies its input unless the input is contiguous. For the gradient of `b`, the input is a transposed
// matrix of as many columns as the batch has rows. It is transposed and multiplied in blocks that fit in the cache.
#include "services/trainer/ops/matrix_product.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <string_view>

#include "services/trainer/ops/op_path.h"

namespace espalier::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Rows of a block in ProductOfTransposed. On a processor with 1 MiB of L2 cache for each core, 1,000 to 4,000 rows of
// 200 columns take the same time.
constexpr int64_t kRowsOfBlock = 1024;

using LinearPointwise = at::Tensor(const at::Tensor& input, const at::Tensor& weight,
                                   const std::optional<at::Tensor>& bias, std::string_view activation,
                                   c10::List<std::optional<at::Scalar>> scalars,
                                   std::optional<std::string_view> algorithm);

const c10::TypedOperatorHandle<LinearPointwise>& LinearPointwiseOp() {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<LinearPointwise>();
  return op;
}

// Returns a @ b + bias, as MatMul does, without gradients.
torch::Tensor Product(const torch::Tensor& a, const torch::Tensor& b, const std::optional<torch::Tensor>& bias = {}) {
  if (a.size(0) == 0 || a.size(1) == 0 || b.size(1) == 0) {
    const torch::Tensor zeros = torch::zeros({a.size(0), b.size(1)}, a.options());
    return bias.has_value() ? zeros + *bias : zeros;
  }
  return LinearPointwiseOp().call(a, b.contiguous().t(), bias, "none", c10::List<std::optional<at::Scalar>>(), "");
}

// Returns a.T @ b: a [rows, m], b [rows, n], to [m, n], contiguous.
torch::Tensor ProductOfTransposed(const torch::Tensor& a, const torch::Tensor& b) {
  const int64_t rows = a.size(0);
  torch::Tensor sum =
      Product(a.narrow(0, 0, std::min(rows, kRowsOfBlock)).t(), b.narrow(0, 0, std::min(rows, kRowsOfBlock)));
  for (int64_t first = kRowsOfBlock; first < rows; first += kRowsOfBlock) {
    const int64_t count = std::min(kRowsOfBlock, rows - first);
    sum.add_(Product(a.narrow(0, first, count).t(), b.narrow(0, first, count)));
  }
  return sum;
}

class MatMulFunction : public Function<MatMulFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& a, const torch::Tensor& b,
                               const std::optional<torch::Tensor>& bias) {
    context->save_for_backward({a, b});
    context->saved_data["has_bias"] = bias.has_value();
    return Product(a, b, bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &a = saved[0], &b = saved[1];
    const torch::Tensor gradient = gradients[0].contiguous();
    variable_list results(3);
    if (context->needs_input_grad(0)) results[0] = Product(gradient, b.t());
    if (context->needs_input_grad(1)) {
      // The narrower matrix is transposed.
      results[1] =
          a.size(1) <= gradient.size(1) ? ProductOfTransposed(a, gradient) : ProductOfTransposed(gradient, a).t();
    }
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)) results[2] = gradient.sum(0);
    return results;
  }
};

bool IsF32(const torch::Tensor& x) { return x.scalar_type() == torch::kFloat32; }

}  // namespace

torch::Tensor MatMul(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& bias) {
  const bool by_onednn = UsesCpuKernels(a) && IsF32(a) && IsF32(b) && (!bias.defined() || IsF32(bias)) &&
                         !at::autocast::is_autocast_enabled(a.device().type());
  if (!by_onednn) return bias.defined() ? torch::addmm(bias, a, b) : torch::mm(a, b);
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "a product of matrices with the shapes ",
              a.sizes(), " and ", b.sizes());
  return MatMulFunction::apply(a, b, bias.defined() ? std::optional(bias) : std::nullopt);
}

}  // namespace espalier::trainer
