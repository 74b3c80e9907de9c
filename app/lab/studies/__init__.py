"""The published studies: their figures, and the rows that stand beside a run's own."""
