// Connecting has four steps, after each of which all ranks know whether to continue: every rank opens the library; all
// compare versions, hosts and GPUs; rank 0 makes NCCL's id; every rank connects its communicator. If a step fails on a
// rank, all ranks stop connecting; the group itself has not failed and stays usable.
#include "services/collective/nccl/nccl_collective.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "services/collective/agreement.h"
#include "services/collective/forwarding_collective.h"
#include "services/collective/nccl/nccl_communicator.h"

namespace espalier::collective {
namespace {

// A rank's host, GPU and NCCL version, as the bytes that ranks exchange. Texts are padded with zeros.
struct RankPlace {
  std::array<char, 128> host{};
  std::array<char, 32> gpu{};  // PCI address
  std::array<char, 32> nccl_version{};
};

template <size_t size>
void CopyText(const std::string& text, std::array<char, size>* to) {
  text.copy(to->data(), size - 1);
}

// Returns the boot id and the host name. Containers of one machine have the same boot id but different names, except
// that those of one Kubernetes pod have the same name. Machines with the same name have different boot ids.
std::string IdentifyHost() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char name[65] = "";
  gethostname(name, sizeof(name) - 1);
  return boot + " " + name;
}

class NcclCollective final : public ForwardingCollective {
 public:
  NcclCollective(std::unique_ptr<Collective> group, std::unique_ptr<NcclLibrary> library,
                 std::unique_ptr<NcclCommunicator> communicator)
      : ForwardingCollective(std::move(group)), library_(std::move(library)), communicator_(std::move(communicator)) {}
  // Leaves the group before the communicator is aborted, so that other ranks do not wait for the abort.
  ~NcclCollective() override { DestroyGroup(); }

  const char* backend() const override { return backend_.c_str(); }
  bool SumsOnDevice() const override { return true; }
  // After Abandon, a pending call gets the group's error and aborts the communicator, in the thread of that call.
  Status AllReduceSumOnDevice(DeviceFloats values, Deadline deadline) override {
    if (values.count == 0) return Barrier(deadline);
    bool has_begun = false;
    const auto poll = [&]() -> Result<bool> {
      if (!std::exchange(has_begun, true)) RETURN_IF_ERROR(communicator_->BeginSum(values));
      return communicator_->PollSum();
    };
    const Status status = PollUntilAllDone(poll, deadline);
    if (!status.ok()) communicator_->Abort();
    return status;
  }

 private:
  const std::unique_ptr<NcclLibrary> library_;
  const std::string backend_ = "NCCL " + library_->version;  // the order of summation may depend on the version
  const std::unique_ptr<NcclCommunicator> communicator_;
};

// Connects one rank. Connect returns only errors of the group itself. If one rank cannot use NCCL, unusable() is an
// error on all ranks.
class NcclConnector {
 public:
  NcclConnector(Collective& group, const NcclOptions& options, Deadline deadline)
      : group_(group), options_(options), deadline_(std::move(deadline)) {}

  Status Connect() {
    RETURN_IF_ERROR(Agree(Open()));
    if (unusable_.ok()) RETURN_IF_ERROR(ComparePlaces());
    if (unusable_.ok()) RETURN_IF_ERROR(ShareId());
    if (unusable_.ok()) RETURN_IF_ERROR(ConnectGpus());
    return Status();
  }

  const Status& unusable() const { return unusable_; }
  std::unique_ptr<NcclLibrary> TakeLibrary() { return std::move(library_); }
  std::unique_ptr<NcclCommunicator> TakeCommunicator() { return std::move(communicator_); }

 private:
  // Sets unusable_ on all ranks if one of them has an error. Returns an error only if the group itself has failed.
  // AgreeOn returns both kinds of errors; the barrier distinguishes them, because only a failed group makes it fail.
  Status Agree(const Status& own) {
    unusable_ = AgreeOn(own, group_, deadline_.Remaining());
    return unusable_.ok() || group_.Barrier(deadline_).ok() ? Status() : unusable_;
  }

  Status Open() {
    if (!options_.device.has_value())
      return FailedPrecondition("this trainer computes on the CPU, and NCCL sums on GPUs");
    ASSIGN_OR_RETURN(NcclLibrary opened, OpenNccl(options_.paths));
    library_ = std::make_unique<NcclLibrary>(std::move(opened));
    char gpu[32] = "";
    RETURN_IF_ERROR(ToStatus(library_->api, library_->api.cudaDeviceGetPCIBusId(gpu, sizeof(gpu), *options_.device),
                             "asking for the address of GPU " + std::to_string(*options_.device)));
    CopyText(gpu, &place_.gpu);
    CopyText(library_->version, &place_.nccl_version);
    CopyText(options_.host.empty() ? IdentifyHost() : options_.host, &place_.host);
    return Status();
  }

  // All ranks compare the same places, so unusable_ is the same on all ranks.
  Status ComparePlaces() {
    ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                     group_.AllGather(std::as_bytes(std::span(&place_, 1)), deadline_));
    std::vector<RankPlace> places(group_.size());
    std::memcpy(places.data(), all.data(), all.size());
    // The bytes of other ranks may lack the final zero.
    for (RankPlace& place : places) place.host.back() = place.gpu.back() = place.nccl_version.back() = '\0';
    unusable_ = CheckPlaces(places);
    return Status();
  }

  Status CheckPlaces(const std::vector<RankPlace>& places) const {
    std::set<std::string> hosts;
    for (size_t rank = 0; rank < places.size(); ++rank) {
      const RankPlace& place = places[rank];
      hosts.insert(place.host.data());
      if (place.nccl_version != places[0].nccl_version) {
        return FailedPrecondition("trainer " + std::to_string(rank) + " has NCCL " + place.nccl_version.data() +
                                  ", trainer 0 has " + places[0].nccl_version.data() +
                                  ": use one version on all machines");
      }
      for (size_t other = 0; other < rank; ++other) {
        if (places[other].host != place.host || places[other].gpu != place.gpu) continue;
        return FailedPrecondition("trainers " + std::to_string(other) + " and " + std::to_string(rank) +
                                  " share the GPU " + place.gpu.data() + ", and NCCL needs one GPU for each trainer");
      }
    }
    if (hosts.size() == 1 || options_.allow_other_hosts) return Status();
    return FailedPrecondition(
        "the trainers are on " + std::to_string(hosts.size()) +
        " different hosts or containers, and NCCL sends in plaintext between them; --collective nccl allows this");
  }

  Status ShareId() {
    Status made;
    if (group_.rank() == Rank(0)) {
      made = ToStatus(library_->api, library_->api.ncclGetUniqueId(&id_), "making the id of NCCL's communicator");
    }
    RETURN_IF_ERROR(Agree(made));
    if (!unusable_.ok()) return Status();
    return group_.Broadcast(std::as_writable_bytes(std::span(&id_, 1)), Rank(0), deadline_);
  }

  // A rank with an error stops polling NCCL and waits for the others. They poll until `end`, because NCCL does not
  // report the error to them. At least half of the time until the deadline is left for Agree, so that the group stays
  // usable.
  Status ConnectGpus() {
    Result<std::unique_ptr<NcclCommunicator>> begun =
        NcclCommunicator::Begin(library_->api, *options_.device, group_.rank().value, group_.size(), id_);
    Status own = begun.status();
    if (own.ok()) communicator_ = *std::move(begun);
    const Deadline end = deadline_.AtMost(std::min(options_.connect_timeout, deadline_.Remaining() / 2));
    const auto poll = [&]() -> Result<bool> {
      if (!own.ok()) return true;
      const Result<bool> connected = communicator_->PollConnected();
      if (connected.ok() && !*connected && !end.HasPassed()) return false;
      own = connected.status();
      if (own.ok() && !*connected) own = DeadlineExceeded("connecting the GPUs: NCCL did not connect in time");
      return true;
    };
    RETURN_IF_ERROR(group_.PollUntilAllDone(poll, deadline_));
    return Agree(own);
  }

  Collective& group_;
  const NcclOptions& options_;
  const Deadline deadline_;
  Status unusable_;
  RankPlace place_;
  NcclUniqueId id_;
  std::unique_ptr<NcclLibrary> library_;
  std::unique_ptr<NcclCommunicator> communicator_;  // refers to library_; destroyed first
};

}  // namespace

Result<NcclConnection> ConnectNccl(std::unique_ptr<Collective> group, const NcclOptions& options, Deadline deadline) {
  NcclConnector connector(*group, options, std::move(deadline));
  RETURN_IF_ERROR(connector.Connect().While("connecting NCCL"));
  if (!connector.unusable().ok()) return NcclConnection{std::move(group), connector.unusable()};
  return NcclConnection{
      std::make_unique<NcclCollective>(std::move(group), connector.TakeLibrary(), connector.TakeCommunicator()),
      Status()};
}

}  // namespace espalier::collective
