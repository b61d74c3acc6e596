// Exchange of samples and commands with the simulator through shared memory: the side of the hardware. No ROS.
//
// The simulator (impact_control_ros, robot_side/shared_exchange.py) makes the segment and lays it out in the same way.
// Sample k waits until it is read; command k, which answers it, makes the simulator step by a period and leave sample
// k + 1. So a late side neither loses nor repeats one. Waiting is done in semaphores, never by looking again.
#pragma once

#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace impact_sim_hardware
{

constexpr std::size_t MAX_JOINTS = 16;
constexpr std::size_t NAME_SIZE = 64;
constexpr std::uint32_t VERSION = 3;
constexpr std::array<char, 8> MAGIC{'I', 'M', 'P', 'S', 'I', 'M', '\0', '\0'};

/// Values of all joints, in the order of their names; entries beyond their number are not used.
using Vector = std::array<double, MAX_JOINTS>;

/// State of the arm; sequence: number of the sample, from 1 on, written last.
struct Sample
{
  std::atomic<std::uint64_t> sequence;
  Vector position;  ///< [rad]
  Vector velocity;  ///< [rad/s]
  Vector effort;    ///< measured [Nm], with gravity
};

/// Answer to a sample; sequence: number of that sample, written last.
struct Command
{
  std::atomic<std::uint64_t> sequence;
  std::uint64_t commanded;  ///< 1: a controller commands the efforts; 0: none does, and the arm stops by itself
  Vector effort;            ///< [Nm], without gravity
};

/// The segment of one arm. Byte 0 of its file is locked by the simulator as long as it lives, byte 1 by the hardware.
struct Segment
{
  std::array<char, 8> magic;  ///< written last by the simulator, with its first sample
  std::uint32_t version;
  std::uint32_t size;
  std::uint32_t joints;
  std::atomic<std::uint32_t> closed;  ///< 1: the simulator has ended the exchange
  std::array<std::array<char, NAME_SIZE>, MAX_JOINTS> names;
  sem_t sample_ready;
  sem_t command_ready;
  Sample sample;
  Command command;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(sem_t) == 32, "the simulator lays the segment out for semaphores of 32 bytes");
static_assert(offsetof(Segment, names) == 24 && offsetof(Segment, sample_ready) == 1048);
static_assert(offsetof(Segment, sample) == 1112 && offsetof(Segment, command) == 1504 && sizeof(Segment) == 1648);

/// Outcome of the wait for a sample.
enum class Wait {
  SAMPLE,   ///< it is there
  TIMEOUT,  ///< the simulator lives, and is late
  GONE,     ///< the simulator has ended, by itself or not
};

/// The hardware's side of an exchange.
class Exchange
{
public:
  /// name: of the segment, as for shm_open; joints: their names, in order.
  Exchange(std::string name, std::vector<std::string> joints) : name_(std::move(name)), joints_(std::move(joints))
  {
    if (name_.size() < 2 || name_.front() != '/' || name_.find('/', 1) != std::string::npos) {
      throw std::invalid_argument("shared memory '" + name_ + "'; allowed: a name that begins with its only /");
    }
    if (joints_.empty() || joints_.size() > MAX_JOINTS) {
      throw std::invalid_argument(std::to_string(joints_.size()) + " joints; allowed: from 1 to 16");
    }
  }
  Exchange(const Exchange &) = delete;
  Exchange & operator=(const Exchange &) = delete;
  ~Exchange() { detach(); }

  /// Attach to the simulator; return false while there is none. Raises std::runtime_error for one that does not fit,
  /// naming what was found and what is allowed.
  bool attach()
  {
    detach();
    file_ = shm_open(name_.c_str(), O_RDWR, 0);
    if (file_ < 0 && errno != ENOENT) {
      throw std::runtime_error(name_ + " cannot be opened: " + std::strerror(errno));
    }
    try {
      // A segment without a lock was left by a simulator that died, or is being made.
      if (file_ < 0 || !alive() || !map()) {
        detach();
        return false;
      }
      check();
    } catch (const std::runtime_error &) {
      detach();
      throw;
    }
    read_ = segment_->command.sequence.load(std::memory_order_acquire);
    return true;
  }

  bool attached() const noexcept { return segment_ != nullptr; }

  /// Let go of the simulator, for this hardware or another to attach again.
  void detach() noexcept
  {
    if (segment_ != nullptr) {
      munmap(segment_, sizeof(Segment));
      segment_ = nullptr;
    }
    if (file_ >= 0) {
      close(file_);  // with it goes the lock
      file_ = -1;
    }
  }

  /// Wait for the sample that follows the last command, for at most `timeout` [ns]. Attached only.
  Wait await(std::int64_t timeout) noexcept
  {
    timespec end{};
    clock_gettime(CLOCK_MONOTONIC, &end);
    const std::int64_t nanoseconds = end.tv_nsec + timeout;
    end.tv_sec += nanoseconds / 1'000'000'000;
    end.tv_nsec = nanoseconds % 1'000'000'000;
    const std::uint64_t due = segment_->command.sequence.load(std::memory_order_relaxed) + 1;
    while (segment_->sample.sequence.load(std::memory_order_acquire) != due) {
      if (segment_->closed.load(std::memory_order_acquire) != 0) {
        return Wait::GONE;
      }
      if (sem_clockwait(&segment_->sample_ready, CLOCK_MONOTONIC, &end) != 0 && errno == ETIMEDOUT) {
        return alive() ? Wait::TIMEOUT : Wait::GONE;
      }
    }
    read_ = due;
    return Wait::SAMPLE;
  }

  /// The sample that was waited for; stays as it is until it is answered.
  const Sample & sample() const noexcept { return segment_->sample; }

  /// Answer the sample that was read; without effect where it is answered. commanded: a controller commands the efforts
  /// [Nm].
  void answer(bool commanded, const Vector & effort) noexcept
  {
    Command & command = segment_->command;
    if (command.sequence.load(std::memory_order_relaxed) == read_) {
      return;
    }
    command.commanded = commanded ? 1 : 0;
    command.effort = effort;
    command.sequence.store(read_, std::memory_order_release);
    sem_post(&segment_->command_ready);
  }

private:
  /// Whether the simulator that made the segment lives: it holds the lock of byte 0.
  bool alive() const noexcept
  {
    struct flock lock = byte(0);
    return fcntl(file_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  }

  /// Map the segment; false while it is being made.
  bool map()
  {
    struct stat found{};
    if (fstat(file_, &found) != 0 || found.st_size == 0) {
      return false;
    }
    if (found.st_size != static_cast<off_t>(sizeof(Segment))) {
      refuse("size", std::to_string(found.st_size) + " bytes", std::to_string(sizeof(Segment)));
    }
    void * address = mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (address == MAP_FAILED) {
      throw std::runtime_error(name_ + " cannot be mapped: " + std::strerror(errno));
    }
    segment_ = static_cast<Segment *>(address);
    return segment_->magic[0] != '\0';
  }

  void check() const
  {
    if (segment_->magic != MAGIC) {
      refuse("content", "something else", "the segment of a simulator");
    }
    if (segment_->version != VERSION || segment_->size != sizeof(Segment)) {
      refuse("version", std::to_string(segment_->version), std::to_string(VERSION));
    }
    std::vector<std::string> found;
    for (std::size_t i = 0; i < std::min<std::size_t>(segment_->joints, MAX_JOINTS); ++i) {
      found.emplace_back(segment_->names[i].data(), strnlen(segment_->names[i].data(), NAME_SIZE));
    }
    if (found != joints_) {
      refuse("joints", joined(found), joined(joints_));
    }
    struct flock lock = byte(1);
    if (fcntl(file_, F_OFD_SETLK, &lock) != 0) {
      throw std::runtime_error(name_ + " is in use by another hardware; allowed: one");
    }
  }

  static struct flock byte(off_t number) noexcept
  {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = number;
    lock.l_len = 1;
    return lock;
  }

  static std::string joined(const std::vector<std::string> & words)
  {
    std::string text;
    for (const std::string & word : words) {
      text += (text.empty() ? "" : ", ") + word;
    }
    return text;
  }

  [[noreturn]] void refuse(const char * what, const std::string & found, const std::string & allowed) const
  {
    throw std::runtime_error(name_ + ": " + what + " = " + found + "; allowed: " + allowed);
  }

  std::string name_;
  std::vector<std::string> joints_;
  int file_ = -1;
  Segment * segment_ = nullptr;
  std::uint64_t read_ = 0;  // number of the last sample that was read
};

}  // namespace impact_sim_hardware
