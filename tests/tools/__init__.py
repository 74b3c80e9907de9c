"""Commands for developers of Siar: the test suite, and tools that are run by hand."""
