"""Speed of the core on one core, part by part, beside others; `bench` adds the way over DDS."""
