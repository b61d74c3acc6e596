"""Tasks back to back for a long time, with faults at random: which faults there are, and what has to hold."""
