"""Recordings of a run: bags on disk, series in memory, what they say, and the report of it.

`bag` writes and repairs rosbag2 directories with MCAP storage, `series` reads them into arrays, `analysis`
computes the figures of merit of a run, `report` and `table` show them. Nothing here needs ROS to be
installed.
"""
