"""What the analysis found, for people and programs: terminal, HTML, JSON and CSV."""
