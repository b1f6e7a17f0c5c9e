#include "operator/client/cpprest/line_sink.h"

#include <stdexcept>

namespace espalier::ctl::client {

bool LineSink::acquire(uint8_t*& bytes, size_t& count) {
  bytes = nullptr;
  count = 0;
  return false;
}

// In a chunked response, the library reads `count` from a chunk's header as an int without a check: "-1" arrives here
// as 2^64 - 1. LineBuffer refuses such a count before it reads a byte.
pplx::task<size_t> LineSink::_putn(const uint8_t* bytes, size_t count) {
  pplx::task_completion_event<size_t> room;
  switch (buffer_.Append({reinterpret_cast<const char*>(bytes), count},
                         [room, count] { static_cast<void>(room.set(count)); })) {
    case LineBuffer::Appended::kContinue: return pplx::task_from_result(count);
    case LineBuffer::Appended::kHold: return pplx::create_task(room);
    case LineBuffer::Appended::kRefused: break;
  }
  return pplx::task_from_exception<size_t>(std::runtime_error("the reader of the response has stopped"));
}

pplx::task<LineSink::int_type> LineSink::_putc(uint8_t byte) {
  return _putn(&byte, 1).then([byte](size_t) -> int_type { return byte; });
}

}  // namespace espalier::ctl::client
