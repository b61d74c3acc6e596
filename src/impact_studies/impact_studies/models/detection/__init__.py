"""Records of detections."""
