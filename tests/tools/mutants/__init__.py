"""Mutation testing: whether a test notices a small change of a line. `python -m tests.tools.mutants` tries a sample.

    places      the possible small changes, and a random sample of them
    copy        a clone of the commit to work in, never the checkout itself
    witnesses   which tests run which line, determined once with coverage.py
    warm        a process with the libraries loaded, from which each run of tests is forked
    judge       writes a mutant into the copy, runs its witnesses and returns a verdict
    page        the figures as Markdown

The changes themselves are Cosmic Ray's. Its sessions are not used, because they run one fixed command for every mutant,
and our suite takes minutes while the tests that cover a line take a second.
"""
