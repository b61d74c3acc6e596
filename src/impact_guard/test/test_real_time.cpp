// A cycle allocates nothing, and values pass whole from one thread to another.
#include <atomic>
#include <limits>
#include <new>
#include <thread>

#include "check.hpp"
#include "example.hpp"
#include "impact_guard/mailbox.hpp"

namespace
{
std::atomic<std::uint64_t> allocations{0};
}

void * operator new(std::size_t size)
{
  ++allocations;
  void * memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }

using namespace example;

namespace
{

void cycles_allocate_nothing()
{
  const std::uint64_t start = allocations;
  void * volatile memory = ::operator new(1);  // volatile: not optimised away
  ::operator delete(memory);
  CHECK(allocations > start, "allocations are not counted");
  Course course;
  Mailbox<Command> commands;
  Mailbox<Report> reports;
  static_assert(noexcept(course.guard.update(0, nullptr, course.velocity, true)));
  static_assert(noexcept(course.guard.reset(0, course.velocity)));
  static_assert(noexcept(commands.take()) && noexcept(commands.put(Command{})));
  static_assert(std::is_trivially_copyable_v<Command> && std::is_trivially_copyable_v<Report>);
  static_assert(std::atomic<std::uint8_t>::is_always_lock_free);
  const std::uint64_t before = allocations;
  for (int k = 0; k < 100'000; ++k) {
    Command fresh = command(course.now + MILLISECOND, 40.0, k / 1000, k % 11 == 0 ? 6 : 7);
    fresh.torque[2] = k % 7 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
    if (k % 100 < 50) {
      commands.put(fresh);
    }
    course.cycle(commands.take());
    reports.put(course.guard.report());
    reports.take();
    if (k % 5000 == 0) {
      course.guard.reset(course.now, all(1.0));
    }
  }
  CHECK(allocations == before, "%lu allocations", static_cast<unsigned long>(allocations - before));
  const Report & report = course.guard.report();
  CHECK(report.accepted > 0 && report.dampings > 0, "the cycles took one branch only");
}

/// Takes long enough to copy for the threads to meet in it.
using Large = std::array<std::uint64_t, 256>;

void values_pass_whole_and_in_order()
{
  constexpr std::uint64_t LAST = 300'000;
  constexpr std::uint64_t PART = 1'000;
  std::atomic<std::uint64_t> newest{0};
  Mailbox<Large> mailbox;
  CHECK(mailbox.take() == nullptr, "something before the first");
  std::thread writer([&mailbox, &newest] {
    for (std::uint64_t k = 1; k <= LAST; ++k) {
      Large value;
      value.fill(k);
      mailbox.put(value);
      // The two run side by side, whatever the machine does.
      while (k % PART == 0 && newest < k) {
        std::this_thread::yield();
      }
    }
  });
  std::uint64_t seen = 0;
  while (newest < LAST) {
    const auto * value = mailbox.take();
    if (value == nullptr) {
      continue;
    }
    CHECK(value->front() > newest, "%lu after %lu", static_cast<unsigned long>(value->front()), newest.load());
    for (const std::uint64_t part : *value) {
      CHECK(part == value->front(), "torn: %lu and %lu", part, value->front());
    }
    newest = value->front();
    ++seen;
  }
  writer.join();
  CHECK(mailbox.take() == nullptr, "the last one twice");
  CHECK(seen >= LAST / PART, "%lu values seen", seen);
  std::printf("%lu of %lu values seen\n", seen, LAST);
}

}  // namespace

int main()
{
  cycles_allocate_nothing();
  values_pass_whole_and_in_order();
  return 0;
}
