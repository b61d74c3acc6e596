"""Impact maps of scenes judged by the net feedback they leave: trials, estimates, tables, pictures, trial data."""
