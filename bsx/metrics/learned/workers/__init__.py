"""What runs in another interpreter: `serve.py` with one adapter a package. None of it imports bsx."""
