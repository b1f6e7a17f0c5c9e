// Progress as text. A bar is one line that each Draw erases and rewrites ("\r\033[K"); every other output clears it
// first. Without a terminal, each Draw prints a new line. last_drawn_ limits the rate of Update in both cases. If it is
// nullopt, the next Update draws a bar at once, but prints a line only after a full interval from the phase's start.
#include "services/terminal/progress.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "services/base/format_number.h"

namespace espalier::terminal {
namespace {

using std::chrono::milliseconds;

constexpr int kBarWidth = 30;
constexpr milliseconds kRedraw{100};
constexpr milliseconds kBetweenLines{5000};

// Returns "  7 %" or "100 %": the number is padded to three characters, so that the text after it does not move.
std::string PercentText(double fraction) {
  const std::string number = FormatFixed(100 * std::clamp(fraction, 0.0, 1.0), 0);
  return std::string(std::max<size_t>(3, number.size()) - number.size(), ' ') + number + " %";
}

}  // namespace

ProgressStyle StyleFor(std::FILE* file, bool quiet) {
  if (quiet) return ProgressStyle::kQuiet;
  const char* terminal = std::getenv("TERM");
  const bool can_redraw = terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
  return can_redraw && isatty(fileno(file)) != 0 ? ProgressStyle::kBar : ProgressStyle::kLines;
}

std::string BarText(double fraction, int width) {
  const int inside = width - 2;
  const int done = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * inside));
  std::string bar(static_cast<size_t>(inside), ' ');
  std::fill_n(bar.begin(), done, '=');
  if (done > 0 && done < inside) bar[static_cast<size_t>(done) - 1] = '>';
  return "[" + bar + "]";
}

std::string DurationText(double seconds) {
  if (seconds < 9.95) return FormatFixed(std::max(0.0, seconds), 1) + " s";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

std::string CountText(double count) {
  constexpr std::array<const char*, 5> kSuffixes = {"", " k", " M", " G", " T"};
  // Smaller counts print as at most "999" or "999.9".
  constexpr double kCountLimit = 999.5, kDecimalLimit = 999.95;
  size_t suffix = 0;
  while (count >= (suffix == 0 ? kCountLimit : kDecimalLimit) && suffix + 1 < kSuffixes.size()) {
    count /= 1000;
    ++suffix;
  }
  return FormatFixed(count, suffix == 0 ? 0 : 1) + kSuffixes[suffix];
}

std::string BytesText(uint64_t bytes) { return CountText(static_cast<double>(bytes)) + (bytes < 1000 ? " B" : "B"); }

void Progress::Begin(const std::string& phase) {
  Clear();
  phase_ = phase;
  phase_start_ = clock_.Now();
  last_drawn_.reset();
  if (style_ == ProgressStyle::kLines) Note(phase);
  if (style_ == ProgressStyle::kBar) Draw(-1, "", std::nullopt);
}

void Progress::SwitchTo(const std::string& phase) {
  if (phase == phase_) return;
  // The interval between lines spans phases. Otherwise no line would be printed if every phase is shorter than the
  // interval.
  if (style_ == ProgressStyle::kLines && !last_drawn_.has_value()) last_drawn_ = phase_start_;
  if (style_ == ProgressStyle::kBar) last_drawn_.reset();
  phase_ = phase;
  phase_start_ = clock_.Now();
}

void Progress::Update(double fraction, const std::string& detail) {
  const double elapsed = std::chrono::duration<double>(clock_.Now() - phase_start_).count();
  // Early extrapolations are too inaccurate to show.
  const bool known = fraction > 0.02 && elapsed > 1;
  Update(fraction, detail, known ? std::optional(elapsed * (1 - fraction) / fraction) : std::nullopt);
}

void Progress::Update(double fraction, const std::string& detail, std::optional<double> remaining_seconds) {
  if (style_ == ProgressStyle::kQuiet) return;
  const milliseconds interval = style_ == ProgressStyle::kBar ? kRedraw : kBetweenLines;
  const SteadyTime last = last_drawn_.value_or(style_ == ProgressStyle::kBar ? SteadyTime::min() : phase_start_);
  const SteadyTime now = clock_.Now();
  if (last != SteadyTime::min() && now - last < interval) return;
  last_drawn_ = now;
  Draw(fraction, detail, remaining_seconds);
}

void Progress::Update(const WorkMeter& meter) {
  const double elapsed = std::chrono::duration<double>(clock_.Now() - phase_start_).count();
  if (meter.done_bytes() == 0) {
    if (elapsed >= 1) Update(-1, DurationText(elapsed));
    return;
  }
  const auto done = static_cast<double>(meter.done_bytes());
  const auto expected = static_cast<double>(meter.expected_bytes());
  Update(expected > 0 ? std::min(1.0, done / expected) : -1,
         elapsed > 0 ? BytesText(static_cast<uint64_t>(done / elapsed)) + "/s" : "");
}

void Progress::UpdateLast(const WorkMeter& meter) {
  if (style_ != ProgressStyle::kBar) return;
  last_drawn_.reset();
  Update(meter);
}

void Progress::Draw(double fraction, const std::string& detail, std::optional<double> remaining_seconds) {
  std::string line = phase_;
  if (fraction >= 0)
    line += (style_ == ProgressStyle::kBar ? " " + BarText(fraction, kBarWidth) : "") + " " + PercentText(fraction);
  if (!detail.empty()) line += "  " + detail;
  if (remaining_seconds.has_value()) line += "  " + DurationText(*remaining_seconds) + " left";
  if (style_ == ProgressStyle::kLines) {
    std::fprintf(out_, "%s\n", line.c_str());
  } else {
    std::fprintf(out_, "\r\033[K%s", line.c_str());
    bar_shown_ = true;
  }
  std::fflush(out_);
}

void Progress::End(const std::string& line) { Note(line); }

void Progress::Note(const std::string& line) {
  if (style_ == ProgressStyle::kQuiet) return;
  Clear();
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void Progress::Clear() {
  if (!bar_shown_) return;
  std::fprintf(out_, "\r\033[K");
  std::fflush(out_);
  bar_shown_ = false;
}

MeteredPhase::MeteredPhase(Progress& progress, const std::string& phase) : progress_(progress) {
  progress_.Begin(phase);
  thread_ = std::thread([this] { PrintUntilDone(); });
}

MeteredPhase::~MeteredPhase() {
  {
    MutexLock lock(&mutex_);
    is_over_ = true;
  }
  thread_.join();
}

void MeteredPhase::PrintUntilDone() {
  while (true) {
    bool is_over = false;
    {
      MutexLock lock(&mutex_);
      is_over = mutex_.AwaitBefore(Deadline::After(kRedraw),
                                   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_over_; });
    }
    if (is_over) break;
    progress_.Update(meter_);
  }
  progress_.UpdateLast(meter_);
}

}  // namespace espalier::terminal
