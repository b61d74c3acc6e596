"""An arm with backlash in its joints, the experiments of Flacco 2016 with it, and what comes of them."""
