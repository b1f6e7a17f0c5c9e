#include "services/partition/metis_call.h"

#include <metis.h>
#include <signal.h>

#include <array>
#include <limits>

#include "services/base/mutex.h"
#include "services/partition/random_streams.h"

namespace espalier::partition {
namespace {

static_assert(sizeof(idx_t) == sizeof(int32_t), "this file passes arrays of 32-bit numbers to METIS");

// METIS uses the C library's rand(), whose state is global, so the process runs one METIS call at a time.
Mutex metis_mutex;

// Blocks SIGTERM in the calling thread while METIS runs. METIS installs a SIGTERM handler that leaves the computation
// with longjmp, possibly in the middle of a memory allocation. METIS restores the previous handler before it returns; a
// pending SIGTERM is delivered to that handler after this object is destroyed. A process with several threads must
// block SIGTERM in the other threads too.
class SigtermBlock {
 public:
  SigtermBlock() {
    sigset_t sigterm;
    sigemptyset(&sigterm);
    sigaddset(&sigterm, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &sigterm, &before_);
  }
  ~SigtermBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SigtermBlock(const SigtermBlock&) = delete;
  SigtermBlock& operator=(const SigtermBlock&) = delete;

 private:
  sigset_t before_;
};

Status ToStatus(int code) {
  switch (code) {
    case METIS_OK: return Status();
    case METIS_ERROR_MEMORY:
      return ResourceExhausted("METIS ran out of memory: use the algorithm Multilevel or Streaming");
    case METIS_ERROR_INPUT: return Internal("METIS refused its input");
    default: return Internal("METIS failed with code " + std::to_string(code));
  }
}

std::array<idx_t, METIS_NOPTIONS> ToMetisOptions(const PartitionOptions& options) {
  std::array<idx_t, METIS_NOPTIONS> metis_options;
  METIS_SetDefaultOptions(metis_options.data());
  metis_options[METIS_OPTION_OBJTYPE] =
      options.objective == Objective::kEdgeCut ? METIS_OBJTYPE_CUT : METIS_OBJTYPE_VOL;
  metis_options[METIS_OPTION_NUMBERING] = 0;
  metis_options[METIS_OPTION_SEED] =
      static_cast<idx_t>(PartitioningKey(options.seed, RandomStream::kMetisSeed) & std::numeric_limits<idx_t>::max());
  return metis_options;
}

}  // namespace

Result<std::vector<uint32_t>> CallMetis(UndirectedGraph graph, VertexWeights weights, const PartitionOptions& options) {
  auto num_vertices = static_cast<idx_t>(graph.num_vertices());
  auto num_constraints = static_cast<idx_t>(weights.num_constraints());
  auto num_partitions = static_cast<idx_t>(options.num_partitions);
  std::vector<idx_t> offsets(graph.offsets.begin(), graph.offsets.end());
  graph.offsets = {};
  // METIS reads uint32_t as idx_t: all values are below 2^31, so the representation is the same.
  auto* const neighbors = reinterpret_cast<idx_t*>(graph.neighbors.data());
  auto* const edge_weights = graph.weights.empty() ? nullptr : reinterpret_cast<idx_t*>(graph.weights.data());
  std::array<idx_t, METIS_NOPTIONS> metis_options = ToMetisOptions(options);
  std::vector<uint32_t> partition_of(static_cast<size_t>(num_vertices));
  idx_t objective = 0;

  const MutexLock lock(&metis_mutex);
  const SigtermBlock sigterm_block;
  RETURN_IF_ERROR(ToStatus(
      METIS_PartGraphKway(&num_vertices, &num_constraints, offsets.data(), neighbors, weights.weights.data(),
                          /*vsize=*/nullptr, edge_weights, &num_partitions, /*tpwgts=*/nullptr, /*ubvec=*/nullptr,
                          metis_options.data(), &objective, reinterpret_cast<idx_t*>(partition_of.data()))));
  return partition_of;
}

}  // namespace espalier::partition
