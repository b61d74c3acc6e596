"""Recordings of a run: bags on disk, series in memory, measures of the run, and its report.

`bag` writes and repairs rosbag2 directories with MCAP storage, `series` reads them into arrays, `opening` reads every
format. `measures` and `analysis` evaluate a run; `summary`, `page`, `report` and the figures show it. No ROS needed.
"""
