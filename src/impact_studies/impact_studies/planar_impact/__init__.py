"""One impact of the planar arm: approach along a line, the flexible response, the rigid one, and the gross jump."""
