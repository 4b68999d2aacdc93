"""Logs of Lightning, Keras, TensorBoard, W&B, mlflow, Flower and plain loops, read into traces."""
