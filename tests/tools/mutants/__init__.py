"""Mutation testing: would a test notice if this line said something else? `python -m tests.tools.mutants` asks a sample.

    places      which small changes there are, and which of them are drawn
    copy        a clone of the commit to work in, never the checkout itself
    witnesses   which tests run which line, found out once, by coverage.py
    warm        a process with the libraries loaded, from which each run of tests is forked
    judge       writes a mutant into the copy, runs its witnesses and says what became of it
    page        the figures as Markdown

The changes themselves are Cosmic Ray's; its sessions are not used, since they run one fixed command for every mutant,
and our suite lasts minutes where the tests that see a line last a second.
"""
