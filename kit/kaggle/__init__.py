"""Talking to Kaggle: credentials, the contained client, resumable transfers, verified unpacking."""
