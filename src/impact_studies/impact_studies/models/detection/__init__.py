"""Where contact is, and records of detections."""
