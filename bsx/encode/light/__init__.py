"""Encoders without PyTorch: graphs for ONNX Runtime made from a checkpoint's own files, and its tokenizer."""
