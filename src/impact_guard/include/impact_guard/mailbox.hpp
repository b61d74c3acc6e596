// Hand-over of the newest value from one thread to another, without waiting on either side.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace impact_guard
{

/// Mailbox for one writing and one reading thread. A value that is not read before the next one comes is lost.
///
/// Of three slots each side owns one, and the third is exchanged: neither ever sees a slot that the other writes.
template <class Value>
class Mailbox
{
public:
  /// Put a value in, from the writing thread.
  void put(const Value & value) noexcept
  {
    slots_[written_] = value;
    written_ = exchanged_.exchange(static_cast<std::uint8_t>(written_ | NEW), std::memory_order_acq_rel) & SLOT;
  }

  /// Return the newest value, valid until the next call, or nullptr when none came since the last call. From the
  /// reading thread.
  const Value * take() noexcept
  {
    if ((exchanged_.load(std::memory_order_relaxed) & NEW) == 0) {
      return nullptr;
    }
    read_ = exchanged_.exchange(read_, std::memory_order_acq_rel) & SLOT;
    return &slots_[read_];
  }

private:
  static constexpr std::uint8_t SLOT = 3;
  static constexpr std::uint8_t NEW = 4;

  std::array<Value, 3> slots_{};
  std::uint8_t written_ = 0;
  std::uint8_t read_ = 1;
  std::atomic<std::uint8_t> exchanged_{2};
};

}  // namespace impact_guard
