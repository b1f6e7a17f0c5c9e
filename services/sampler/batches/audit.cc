// Writing appends one record per destination and block. Merging advances all files together, one step at a time: it
// takes the records of the smallest step from every file that has the step, sorts them by key, keeps one of several
// equal records (records with the same key that differ are an error), and adds these records to one SHA-256.
#include "services/sampler/batches/audit.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "services/base/hash.h"
#include "services/base/sha256.h"

namespace espalier::sampler {
namespace {

constexpr char kMagic[8] = {'E', 'S', 'P', 'A', 'U', 'D', 'T', '1'};

// The layout on disk.
struct AuditRecord {
  uint32_t epoch;
  uint32_t step;
  uint16_t layer;
  uint16_t edge_type;
  uint32_t drawn;
  uint64_t destination;
  uint64_t hash[2];
};
static_assert(sizeof(AuditRecord) == 40 && std::is_trivially_copyable_v<AuditRecord>);

auto ToStep(const AuditRecord& record) { return std::tuple(record.epoch, record.step); }
auto ToKey(const AuditRecord& record) { return std::tuple(record.layer, record.edge_type, record.destination); }
bool HaveSameDraw(const AuditRecord& a, const AuditRecord& b) {
  return a.drawn == b.drawn && a.hash[0] == b.hash[0] && a.hash[1] == b.hash[1];
}

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Reads one trainer's file, one step at a time.
class AuditReader {
 public:
  static Result<AuditReader> Open(const std::string& path) {
    AuditReader reader(path);
    reader.file_.reset(std::fopen(path.c_str(), "rb"));
    if (reader.file_ == nullptr) return FromErrno(errno, "opening " + path);
    char magic[sizeof(kMagic)];
    if (std::fread(magic, 1, sizeof(magic), reader.file_.get()) != sizeof(magic) ||
        std::memcmp(magic, kMagic, sizeof(kMagic)) != 0) {
      return DataLoss(path + ": not an audit file (it does not begin with ESPAUDT1)");
    }
    RETURN_IF_ERROR(reader.ReadNext());
    return reader;
  }

  bool AtEnd() const { return !has_next_; }
  const AuditRecord& next() const { return next_; }

  // Appends all records of the step of next(). Must not be called at the end.
  Status TakeStep(std::vector<AuditRecord>& records) {
    const auto step = ToStep(next_);
    while (has_next_ && ToStep(next_) == step) {
      records.push_back(next_);
      RETURN_IF_ERROR(ReadNext());
    }
    if (has_next_ && ToStep(next_) < step) return DataLoss(path_ + ": steps are not in ascending order");
    return Status();
  }

 private:
  explicit AuditReader(std::string path) : path_(std::move(path)) {}

  Status ReadNext() {
    const size_t bytes = std::fread(&next_, 1, sizeof(next_), file_.get());
    if (std::ferror(file_.get())) return FromErrno(errno, "reading " + path_);
    has_next_ = bytes == sizeof(next_);
    if (bytes == 0 && std::feof(file_.get())) return Status();
    if (!has_next_) return DataLoss(path_ + ": truncated in the middle of a record");
    return Status();
  }

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  AuditRecord next_{};
  bool has_next_ = false;
};

// Sorts the records of a step by key and keeps one of each key. DataLoss if records of a key differ.
Status KeepOnePerKey(std::vector<AuditRecord>& records) {
  std::sort(records.begin(), records.end(),
            [](const AuditRecord& a, const AuditRecord& b) { return ToKey(a) < ToKey(b); });
  size_t kept = 0;
  for (const AuditRecord& record : records) {
    if (kept == 0 || ToKey(records[kept - 1]) != ToKey(record)) {
      records[kept++] = record;
    } else if (!HaveSameDraw(records[kept - 1], record)) {
      return DataLoss("two trainers drew different in-edges of destination " + std::to_string(record.destination) +
                      " (the original id of a node, or a hash of it and the time; epoch " +
                      std::to_string(record.epoch) + ", step " + std::to_string(record.step) + ", layer " +
                      std::to_string(record.layer) + ", edge type " + std::to_string(record.edge_type) + ")");
    }
  }
  records.resize(kept);
  return Status();
}

}  // namespace

AuditWriter::AuditWriter(std::string path, graph::GraphSchema schema, std::FILE* file)
    : path_(std::move(path)), schema_(std::move(schema)), file_(file) {}

Result<std::unique_ptr<AuditWriter>> AuditWriter::Open(const std::string& path, graph::GraphSchema schema) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return FromErrno(errno, "opening " + path);
  std::unique_ptr<AuditWriter> writer(new AuditWriter(path, std::move(schema), file));
  if (std::fwrite(kMagic, sizeof(kMagic), 1, file) != 1) return FromErrno(errno, "writing " + path);
  return writer;
}

Status AuditWriter::Record(const MiniBatch& batch, const std::vector<std::span<const int64_t>>& original_ids) {
  ESPALIER_CHECK(file_ != nullptr) << "Record after Close";
  std::vector<uint64_t> drawn;
  std::vector<AuditRecord> records;
  for (size_t layer = 0; layer < batch.layers.size(); ++layer) {
    for (const Block& block : batch.layers[layer].blocks) {
      const auto destinations = original_ids[schema_.DestinationOf(block.edge_type).value];
      const auto sources = original_ids[schema_.SourceOf(block.edge_type).value];
      for (size_t row = 0; row + 1 < block.indptr.size(); ++row) {
        drawn.clear();
        for (uint32_t k = block.indptr[row]; k < block.indptr[row + 1]; ++k) {
          drawn.push_back(static_cast<uint64_t>(sources[block.indices[k]]));
        }
        const uint16_t destination_type = schema_.DestinationOf(block.edge_type).value;
        auto destination = static_cast<uint64_t>(destinations[row]);
        if (!batch.times.empty()) {
          destination = HashCombine(destination, static_cast<uint64_t>(batch.times[destination_type][row]));
        }
        const auto bytes = std::as_bytes(std::span<const uint64_t>(drawn));
        records.push_back({batch.epoch,
                           batch.step,
                           static_cast<uint16_t>(layer),
                           block.edge_type.value,
                           static_cast<uint32_t>(drawn.size()),
                           destination,
                           {Hash64(bytes, 1), Hash64(bytes, 2)}});
      }
    }
  }
  if (records.empty()) return Status();
  if (std::fwrite(records.data(), sizeof(AuditRecord), records.size(), file_.get()) != records.size()) {
    return FromErrno(errno, "writing " + path_);
  }
  return Status();
}

Status AuditWriter::Close() {
  std::FILE* file = file_.release();
  ESPALIER_CHECK(file != nullptr) << "Close twice";
  if (std::fclose(file) != 0) return FromErrno(errno, "writing " + path_);
  return Status();
}

Result<AuditSummary> MergeAudits(const std::vector<std::string>& paths) {
  std::vector<AuditReader> readers;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(AuditReader reader, AuditReader::Open(path));
    readers.push_back(std::move(reader));
  }
  AuditSummary summary;
  Sha256 digest;
  std::vector<AuditRecord> records;
  for (;;) {
    const AuditReader* first = nullptr;
    for (const AuditReader& reader : readers) {
      if (!reader.AtEnd() && (first == nullptr || ToStep(reader.next()) < ToStep(first->next()))) first = &reader;
    }
    if (first == nullptr) break;
    const auto step = ToStep(first->next());
    records.clear();
    for (AuditReader& reader : readers) {
      if (!reader.AtEnd() && ToStep(reader.next()) == step) RETURN_IF_ERROR(reader.TakeStep(records));
    }
    RETURN_IF_ERROR(KeepOnePerKey(records));
    summary.num_expansions += records.size();
    digest.Update(std::as_bytes(std::span<const AuditRecord>(records)));
  }
  summary.samples_digest = digest.HexDigest();
  return summary;
}

}  // namespace espalier::sampler
