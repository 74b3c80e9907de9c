"""Commands for those who work on Siar: the suite, and what is run by hand."""
