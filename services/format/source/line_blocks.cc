#include "services/format/source/line_blocks.h"

#include "services/format/source/limits.h"

namespace espalier::format {

Result<LineBlockReader> LineBlockReader::Open(const std::string& path, const BlockReading& reading) {
  ASSIGN_OR_RETURN(TextInput input, TextInput::Open(path, reading.meter));
  return LineBlockReader(std::move(input), std::clamp<size_t>(reading.block_bytes, 1, kMaxLineBytes));
}

Status LineBlockReader::Fill() {
  while (complete_bytes_ == 0 && !at_end_) {
    const size_t before = pending_.size();
    pending_.resize(before + block_bytes_);
    const Result<size_t> got = input_.Read(std::span(pending_).subspan(before), next_line_ - 1);
    pending_.resize(before + (got.ok() ? *got : 0));
    RETURN_IF_ERROR(got.status());
    if (*got == 0) at_end_ = true;
    // Only the first line can be longer than the limit, because the others lie in the bytes of one read.
    const size_t first_newline = pending_.find('\n', before);
    if (std::min(first_newline, pending_.size()) > kMaxLineBytes) {
      return InvalidArgument(input_.path() + ":" + std::to_string(next_line_) + ": the line is longer than 64 MiB");
    }
    if (first_newline != std::string::npos) complete_bytes_ = pending_.rfind('\n') + 1;
  }
  return Status();
}

LineBlock LineBlockReader::TakeBlock(size_t size) {
  LineBlock block{.text = pending_.substr(0, size), .first_line = next_line_};
  pending_.erase(0, size);
  complete_bytes_ = 0;
  next_line_ += static_cast<uint64_t>(std::count(block.text.begin(), block.text.end(), '\n'));
  return block;
}

Result<std::optional<LineBlock>> LineBlockReader::Next() {
  RETURN_IF_ERROR(Fill());
  const size_t size = complete_bytes_ > 0 ? complete_bytes_ : pending_.size();
  if (size == 0) return std::optional<LineBlock>();
  return std::optional(TakeBlock(size));
}

}  // namespace espalier::format
