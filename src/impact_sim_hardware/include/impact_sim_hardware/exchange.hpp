// Exchange of samples and commands with the simulator through shared memory: the side of the hardware. No ROS.
//
// The simulator (impact_control_ros, robot_side/shared_exchange.py) makes the segment and lays it out in the same way.
// Sample k waits until it is read; command k, which answers it, makes the simulator step, by a period or as many as it
// says, and leave sample k + 1. So a late side neither loses nor repeats one. Waiting is done in semaphores, never by
// looking again.
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
constexpr std::uint32_t VERSION = 2;
constexpr std::array<char, 8> MAGIC{'I', 'M', 'P', 'S', 'I', 'M', '\0', '\0'};

/// Values of all joints, in the order of their names; entries beyond their number are not used.
using Vector = std::array<double, MAX_JOINTS>;

/// State of the arm; sequence: number of the sample, from 1 on, written last.
struct Sample
{
  std::atomic<std::uint64_t> sequence;
  std::uint64_t periods;  ///< from the sample before
  Vector position;  ///< [rad]
  Vector velocity;  ///< [rad/s]
  Vector effort;    ///< measured [Nm], with gravity
};

/// Answer to a sample; sequence: number of that sample, written last.
struct Command
{
  std::atomic<std::uint64_t> sequence;
  std::int64_t stamp;       ///< when the sample was read [ns], by the clock that stamps joint states
  std::uint64_t commanded;  ///< 1: a controller commands the efforts; 0: none does, and the arm stops by itself
  std::uint64_t periods;    ///< to go on for; of the arms of one simulator the largest holds
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
static_assert(offsetof(Segment, sample) == 1112 && offsetof(Segment, command) == 1512 && sizeof(Segment) == 1672);

constexpr std::int64_t PERIOD = 1'000'000;  ///< of the samples [ns]

/// Rounds in which missed periods are made up for: while it catches up the simulator falls behind by less and less.
constexpr unsigned CATCH_UP_ROUNDS = 5;

/// Time of the samples beside that of the cycles: an arm goes on whatever its controller manager does.
class Pace
{
public:
  static constexpr std::int64_t LONGEST = 100 * PERIOD;  ///< longest delay that is made up for; beyond it time is lost

  /// The sample that is read next is of the time at which it is.
  void restart() noexcept { begun_ = false; }

  /// Note a sample that was read `now` [ns], and its `periods` from the one before.
  void read(std::uint64_t periods, std::int64_t now) noexcept
  {
    due_ = begun_ ? due_ + static_cast<std::int64_t>(periods) * PERIOD : now;
    begun_ = true;
  }

  /// Return by how many whole periods the sample that was read is older than `now` [ns].
  std::uint64_t missed(std::int64_t now) noexcept
  {
    const std::int64_t late = now - due_;
    if (late > LONGEST) {
      due_ = now;
      return 0;
    }
    return static_cast<std::uint64_t>(std::max<std::int64_t>(late / PERIOD, 0));
  }

private:
  bool begun_ = false;
  std::int64_t due_ = 0;  // [ns]
};

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

  /// Answer the sample that was read; without effect where it is answered. stamp: of the cycle [ns]; commanded: a
  /// controller commands the efforts [Nm], for so many periods.
  void answer(std::int64_t stamp, bool commanded, const Vector & effort, std::uint64_t periods = 1) noexcept
  {
    Command & command = segment_->command;
    if (command.sequence.load(std::memory_order_relaxed) == read_) {
      return;
    }
    command.stamp = stamp;
    command.commanded = commanded ? 1 : 0;
    command.effort = effort;
    command.periods = periods;
    command.sequence.store(read_, std::memory_order_release);
    sem_post(&segment_->command_ready);
  }

  /// Wait for a sample that is of now, for at most `timeout` [ns]: one that cycle or simulator made late by periods
  /// would hide that the arm moved. It goes on in them under the last command. Attached only.
  Wait await_present(Pace & pace, std::int64_t timeout) noexcept
  {
    Wait wait = await(timeout);
    for (unsigned round = 0; wait == Wait::SAMPLE; ++round) {
      timespec clock{};
      clock_gettime(CLOCK_MONOTONIC, &clock);
      const std::int64_t now = clock.tv_sec * std::int64_t{1'000'000'000} + clock.tv_nsec;
      pace.read(segment_->sample.periods, now);
      const std::uint64_t missed = pace.missed(now);
      if (missed == 0 || round == CATCH_UP_ROUNDS) {
        break;
      }
      wait = let_pass(missed, timeout);
    }
    return wait;
  }

  /// Let the simulator go on for some periods, at least one, under the last command, as an arm does that gets no
  /// other, and read the sample after them, for at most `timeout` [ns]. Attached only.
  Wait let_pass(std::uint64_t periods, std::int64_t timeout) noexcept
  {
    const Command & last = segment_->command;
    answer(last.stamp + PERIOD, last.commanded != 0, Vector(last.effort), periods);
    return await(timeout);
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
