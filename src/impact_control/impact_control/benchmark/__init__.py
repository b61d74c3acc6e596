"""Speed of the core on one core, part by part, beside others; `nodes.bench` adds the way over DDS."""
