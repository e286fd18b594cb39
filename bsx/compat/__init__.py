"""Other packages' interfaces on bsx's engine, for people who switch."""
