"""The suites that depl ships. Every module here defines ``SUITE``; adding a file is all it takes."""
