"""Two workers of one thread each: `default` under TensorFlow's MirroredStrategy."""
