"""The reference pages of docs/, made from the code: `python -m tests.tools.reference` writes them.

    docs/commands.md   from the parsers of app/cli
    docs/settings.md   from the fields of app/settings.py with their docstrings
    docs/http-api.md   from the OpenAPI document

Each page has one generated part between two marks; what is around it is written by hand and stays.
"""
