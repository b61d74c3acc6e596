"""Reference spreading against simpler ways to meet an impact: trials, measures, tables and pictures."""
