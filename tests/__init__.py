"""The test suite; `./siar test` runs it. A package, so that `tests.components` is never somebody else's."""
