"""Real training on a small scale: federated averaging of pruned networks, recorded as training traces.

What Sec. VI-A of the paper measures with AlexNet and MobileNet on CIFAR-10 is measured here with networks of
the same kinds, small enough that hundreds of runs take minutes, on data that needs no download.
"""
