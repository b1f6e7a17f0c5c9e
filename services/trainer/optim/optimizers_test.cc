// Optimizers compared with torch's, their state, the gradient buffer, and schedules of the learning rate.
#include "services/trainer/optim/optimizers.h"

#include <gtest/gtest.h>

#include "services/trainer/ops/op_path.h"
#include "services/trainer/optim/flat_gradients.h"
#include "services/trainer/optim/schedules.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

NamedTensors TwoParameters() {
  return {{"a", RandomMatrix(1, 3, 4).requires_grad_()}, {"b", RandomMatrix(2, 1, 5).requires_grad_()}};
}
void SetGradients(const NamedTensors& parameters, uint64_t seed) {
  for (const auto& [name, parameter] : parameters) {
    torch::Tensor shared = parameter;
    shared.mutable_grad() = RandomMatrix(seed + static_cast<uint64_t>(name[0]), parameter.size(0), parameter.size(1));
  }
}
std::vector<torch::Tensor> Values(const NamedTensors& parameters) {
  std::vector<torch::Tensor> values;
  for (const auto& entry : parameters) values.push_back(entry.second);
  return values;
}

// Takes 30 steps with Espalier's and with torch's optimizer, with the same gradients and a changing rate, and expects
// equal parameters.
void ExpectSameSteps(
    const job::Optimizer& options,
    const std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>& make_torchs) {
  const NamedTensors ours = TwoParameters(), theirs = TwoParameters();
  Optimizer optimizer(options, ours);
  const auto torchs = make_torchs(Values(theirs));
  for (uint64_t step = 0; step < 30; ++step) {
    const double rate = options.learning_rate / static_cast<double>(1 + step);
    SetGradients(ours, step);
    SetGradients(theirs, step);
    optimizer.Step(rate);
    torchs->param_groups()[0].options().set_lr(rate);
    torchs->step();
    for (size_t i = 0; i < ours.size(); ++i) {
      ASSERT_TRUE(torch::allclose(ours[i].second, theirs[i].second, 1e-5, 1e-6))
          << "step " << step << " " << ours[i].first;
    }
  }
}

TEST(OptimizerTest, AdamMatchesTorch) {
  ExpectSameSteps({.type = job::OptimizerType::kAdam, .learning_rate = 0.1, .weight_decay = 0.01}, [](auto parameters) {
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0.1).weight_decay(0.01));
  });
}
TEST(OptimizerTest, AdamWMatchesTorch) {
  ExpectSameSteps({.type = job::OptimizerType::kAdamW, .learning_rate = 0.1, .weight_decay = 0.1}, [](auto parameters) {
    return std::make_unique<torch::optim::AdamW>(parameters, torch::optim::AdamWOptions(0.1).weight_decay(0.1));
  });
}
TEST(OptimizerTest, SgdMatchesTorch) {
  for (const double momentum : {0.0, 0.9}) {
    ExpectSameSteps(
        {.type = job::OptimizerType::kSgd, .learning_rate = 0.1, .weight_decay = 0.01, .momentum = momentum},
        [&](auto parameters) {
          return std::make_unique<torch::optim::SGD>(
              parameters, torch::optim::SGDOptions(0.1).weight_decay(0.01).momentum(momentum));
        });
  }
}

TEST(OptimizerTest, AMissingGradientCountsAsZeros) {
  NamedTensors with_zeros = TwoParameters(), without = TwoParameters();
  for (auto& [name, parameter] : with_zeros) parameter.mutable_grad() = torch::zeros(parameter.sizes());
  const job::Optimizer options{.weight_decay = 0.1};
  Optimizer(options, with_zeros).Step(0.1);
  Optimizer(options, without).Step(0.1);
  EXPECT_TRUE(torch::equal(with_zeros[0].second, without[0].second));
}

TEST(OptimizerTest, ResumesFromSavedState) {
  for (const auto type : {job::OptimizerType::kAdam, job::OptimizerType::kSgd}) {
    const job::Optimizer options{.type = type, .momentum = 0.9};
    const NamedTensors straight = TwoParameters();
    Optimizer first(options, straight);
    SetGradients(straight, 1);
    first.Step(0.1);

    NamedTensors resumed;
    for (const auto& [name, parameter] : straight)
      resumed.emplace_back(name, parameter.detach().clone().requires_grad_());
    Optimizer second(options, resumed);
    ASSERT_TRUE(second.LoadState(first.State()).ok());
    for (auto* optimizer : {&first, &second}) {
      SetGradients(optimizer == &first ? straight : resumed, 2);
      optimizer->Step(0.1);
    }
    EXPECT_TRUE(torch::equal(straight[0].second, resumed[0].second));
    EXPECT_TRUE(torch::equal(straight[1].second, resumed[1].second));
  }
}

TEST(OptimizerTest, RefusesMismatchedState) {
  Optimizer optimizer({}, TwoParameters());
  NamedTensors state = optimizer.State();
  state.pop_back();
  EXPECT_NE(optimizer.LoadState(state).message().find("'moment2.b' is missing"), std::string::npos);
  state.emplace_back("moment2.b", torch::zeros({7}));
  EXPECT_NE(optimizer.LoadState(state).message().find("'moment2.b' is float [7], expected float"), std::string::npos);
}

TEST(OptimizerTest, OperationsOfTorchTakeTheSameSteps) {
  const job::Optimizer plain = {.type = job::OptimizerType::kSgd, .learning_rate = 0.1};
  const job::Optimizer with_momentum = {
      .type = job::OptimizerType::kSgd, .learning_rate = 0.1, .weight_decay = 0.01, .momentum = 0.9};
  const job::Optimizer adam = {.type = job::OptimizerType::kAdam, .learning_rate = 0.1, .weight_decay = 0.01};
  const job::Optimizer adam_w = {.type = job::OptimizerType::kAdamW, .learning_rate = 0.1, .weight_decay = 0.1};
  for (const job::Optimizer& options : {plain, with_momentum, adam, adam_w}) {
    const NamedTensors by_kernels = TwoParameters(), by_torch = TwoParameters();
    Optimizer one(options, by_kernels), other(options, by_torch);
    for (uint64_t step = 0; step < 30; ++step) {
      SetGradients(by_kernels, step);
      SetGradients(by_torch, step);
      one.Step(0.1);
      const TorchPathScope torch_path;
      other.Step(0.1);
    }
    for (size_t i = 0; i < by_torch.size(); ++i) {
      EXPECT_TRUE(torch::allclose(by_torch[i].second, by_kernels[i].second, 1e-4, 1e-5)) << by_torch[i].first;
    }
  }
}

// Gradients of a model on a GPU: the host has a copy, whose changes reach the parameters with CopyToDevice.
TEST(FlatGradientsTest, GradientsOfAnotherDeviceAreCopiedBothWays) {
  const TorchPathScope torch_path;
  const NamedTensors parameters = TwoParameters();
  FlatGradients gradients(parameters, /*num_extra=*/2);
  (parameters[0].second.sum() * 2).backward();
  const std::span<float> values = gradients.CopyToHost();
  EXPECT_EQ(values.size(), 12u + 5u + 2u);
  EXPECT_EQ(values[11], 2.0f);
  EXPECT_EQ(values[12], 0.0f);
  for (float& value : values) value += 1;
  EXPECT_EQ(parameters[0].second.grad().sum().item<float>(), 24.0f);
  gradients.CopyToDevice();
  EXPECT_EQ(parameters[0].second.grad().sum().item<float>(), 36.0f);
  EXPECT_EQ(gradients.extra_values()[1], 1.0f);
  gradients.Clear();
  EXPECT_EQ(parameters[0].second.grad().abs().sum().item<float>(), 0.0f);
  EXPECT_EQ(gradients.CopyToHost()[18], 0.0f);
}

// The device has all values of the all-reduce, which may sum them there.
TEST(FlatGradientsTest, ExtrasAreCopiedToGradientsOfAnotherDeviceAndBack) {
  const TorchPathScope torch_path;
  const NamedTensors parameters = TwoParameters();
  FlatGradients gradients(parameters, /*num_extra=*/2);
  ASSERT_TRUE(gradients.is_on_device());
  EXPECT_FALSE(FlatGradients({}, 2).is_on_device());
  (parameters[1].second.sum() * 2).backward();
  gradients.extra_values()[1] = 3;
  torch::Tensor on_device = gradients.CopyExtrasToDevice();
  EXPECT_EQ(on_device.numel(), 12 + 5 + 2);
  EXPECT_EQ(on_device[16].item<float>(), 2.0f);
  EXPECT_EQ(on_device[18].item<float>(), 3.0f);
  on_device.add_(1);
  EXPECT_EQ(parameters[1].second.grad().sum().item<float>(), 15.0f);
  EXPECT_EQ(gradients.extra_values()[1], 3.0f);
  gradients.CopyExtrasToHost();
  EXPECT_EQ(gradients.extra_values()[0], 1.0f);
  EXPECT_EQ(gradients.extra_values()[1], 4.0f);
}

TEST(FlatGradientsTest, BackwardPassesAddIntoTheBuffer) {
  const NamedTensors parameters = TwoParameters();
  FlatGradients gradients(parameters, /*num_extra=*/2);
  for (int pass = 0; pass < 2; ++pass) (parameters[0].second.sum() * 2 + parameters[1].second.sum()).backward();

  EXPECT_EQ(gradients.CopyToHost().size(), 12u + 5u + 2u);
  EXPECT_EQ(gradients.CopyToHost()[11], 4.0f);
  EXPECT_EQ(gradients.CopyToHost()[12], 2.0f);
  gradients.extra_values()[1] = 3;
  EXPECT_EQ(gradients.CopyToHost().back(), 3.0f);
  gradients.Clear();
  EXPECT_EQ(parameters[0].second.grad().abs().sum().item<float>(), 0.0f);
}

TEST(LearningRateTest, MatchesDocument) {
  const RunLength run{.steps_per_epoch = 10, .epochs = 10};
  const auto rate = [&](job::ScheduleType type, int64_t step, int64_t warmup = 0) {
    return LearningRateAt({.type = type, .warmup_steps = warmup, .step_epochs = 2, .factor = 0.5}, 1.0, run, step);
  };
  EXPECT_DOUBLE_EQ(rate(job::ScheduleType::kConstant, 99), 1.0);
  EXPECT_DOUBLE_EQ(rate(job::ScheduleType::kLinear, 0), 1.0);
  EXPECT_DOUBLE_EQ(rate(job::ScheduleType::kLinear, 50), 0.5);
  EXPECT_DOUBLE_EQ(rate(job::ScheduleType::kLinear, 100), 0.0);
  EXPECT_NEAR(rate(job::ScheduleType::kCosine, 50), 0.5, 1e-12);
  EXPECT_NEAR(rate(job::ScheduleType::kCosine, 25), 0.85355339, 1e-8);
  EXPECT_DOUBLE_EQ(rate(job::ScheduleType::kStep, 19), 1.0);
  EXPECT_DOUBLE_EQ(rate(job::ScheduleType::kStep, 20), 0.5);
  EXPECT_DOUBLE_EQ(rate(job::ScheduleType::kStep, 45), 0.25);
}

TEST(LearningRateTest, WarmsUpEvenly) {
  const RunLength run{.steps_per_epoch = 10, .epochs = 10};
  const job::LearningRateSchedule schedule{.type = job::ScheduleType::kLinear, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 2.0, run, 0), 0.5);
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 2.0, run, 3), 2.0);
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 2.0, run, 4), 2.0);
  EXPECT_DOUBLE_EQ(LearningRateAt(schedule, 2.0, run, 52), 1.0);
}

}  // namespace
}  // namespace espalier::trainer
