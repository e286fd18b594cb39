"""Changes to a text by name: what each does, what it should do to the meaning, and which texts it is for."""
