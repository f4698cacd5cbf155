"""Tests of everything that has to do with Kaggle, against a stand-in server."""
