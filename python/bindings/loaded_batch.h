// A mini-batch with the rows that were fetched for it.
#pragma once

#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/batches/mini_batch.h"

namespace espalier::python {

struct LoadedBatch {
  sampler::MiniBatch batch;
  std::vector<Tensor> rows;  // one tensor for each item of LoaderSettings::fetches, in order
};

}  // namespace espalier::python
