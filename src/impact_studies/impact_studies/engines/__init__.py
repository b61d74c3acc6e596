"""The impacts of `engine_comparison`, and the physics engines that they are given to."""
