// Checks for test programs: a failed one says where, and ends the program with 1.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition, ...)                                                   \
  do {                                                                          \
    if (!(condition)) {                                                         \
      std::printf("%s:%d: not so: %s; ", __FILE__, __LINE__, #condition);       \
      std::printf(__VA_ARGS__);                                                 \
      std::printf("\n");                                                        \
      std::exit(1);                                                             \
    }                                                                           \
  } while (false)
