"""Recordings of a run: bags on disk, series in memory, what they say, and the report of it.

`bag` writes and repairs rosbag2 directories with MCAP storage, `series` reads them into arrays. `joints`,
`commands`, `decisions`, `contact` and `timing` each read one thing out of them, `analysis` gathers it.
`report`, `figures` and `table` show it. Nothing here needs ROS to be installed.
"""
