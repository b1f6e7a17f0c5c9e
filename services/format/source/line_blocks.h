// Reads a text file, plain or gzip, in blocks of whole lines. One thread reads the blocks; it or other threads parse
// them.
#pragma once

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/format/source/text_input.h"

namespace espalier::format {

// How a large text file is read. The results, and the errors for invalid content, do not depend on these options.
struct BlockReading {
  int threads = 1;                       // threads that parse besides the one that reads; 1: that thread parses too
  size_t block_bytes = size_t{1} << 20;  // bytes read at a time; blocks consist of whole lines
  // Folder for mapped files in which arrays are built, so that memory holds only the current blocks. Empty: arrays are
  // built in memory.
  std::string scratch_folder = {};
  WorkMeter* meter = nullptr;  // counts the bytes of files, unless null
};

struct LineBlock {
  std::string text;         // ends with a '\n' except at the end of the file; never empty
  uint64_t first_line = 1;  // number of the first line of `text` in the file, from 1
};

// Thread-compatible.
class LineBlockReader {
 public:
  // Returns errors of TextInput::Open.
  static Result<LineBlockReader> Open(const std::string& path, const BlockReading& reading);

  // Returns the next block, or nullopt at the end of the file. Errors: InvalidArgument for a line of more than 64 MiB;
  // those of TextInput::Read, which are returned only after all complete lines before the error.
  Result<std::optional<LineBlock>> Next();

 private:
  LineBlockReader(TextInput input, size_t block_bytes) : input_(std::move(input)), block_bytes_(block_bytes) {}
  // Reads until pending_ has a complete line or the file ends.
  Status Fill();
  LineBlock TakeBlock(size_t size);

  TextInput input_;
  size_t block_bytes_;
  std::string pending_;        // bytes that were read but not yet returned
  size_t complete_bytes_ = 0;  // bytes of pending_ up to and including its last '\n'
  uint64_t next_line_ = 1;
  bool at_end_ = false;
};

// Returns the line that starts at *at, without its end ("\n" or "\r\n"), and moves *at to the next line. *at must be
// less than text.size().
inline std::string_view TakeLine(std::string_view text, size_t* at) {
  const size_t end = std::min(text.find('\n', *at), text.size());
  std::string_view line = text.substr(*at, end - *at);
  *at = end + 1;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Calls merge(parse(block)) for every block. `parse` runs on up to reading.threads other threads (on the calling thread
// if reading.threads is 1), `merge` on the calling thread in file order. Stops at the first error of `merge` or of the
// file. Holds at most threads + 1 blocks.
template <class Parse, class Merge>
Status ForEachBlock(const std::string& path, const BlockReading& reading, const Parse& parse, const Merge& merge) {
  using Part = decltype(parse(LineBlock()));
  ASSIGN_OR_RETURN(LineBlockReader reader, LineBlockReader::Open(path, reading));
  const size_t max_running = reading.threads <= 1 ? 0 : static_cast<size_t>(reading.threads);
  std::deque<std::future<Part>> running;  // in file order; the destructor of a future waits for its thread
  while (true) {
    Result<std::optional<LineBlock>> block = reader.Next();
    const Status read = block.status();
    const bool last = !read.ok() || !block->has_value();
    if (!last && max_running == 0) RETURN_IF_ERROR(merge(parse(**block)));
    if (!last && max_running > 0) {
      // Runs asynchronously; deferred to get() only if the system cannot create a thread.
      const auto parse_block = [&parse, shared = std::make_shared<const LineBlock>(**std::move(block))] {
        return parse(*shared);
      };
      running.push_back(std::async(std::launch::async | std::launch::deferred, parse_block));
    }
    while (running.size() > (last ? 0 : max_running - 1)) {
      Part part = running.front().get();
      running.pop_front();
      RETURN_IF_ERROR(merge(std::move(part)));
    }
    if (last) return read;
  }
}

}  // namespace espalier::format
