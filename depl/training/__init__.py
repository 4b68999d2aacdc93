"""A controller in a training program: a plain loop, Lightning, Keras and Flower.

The adapters decide nothing. Each hands the loss of an epoch to a `depl.models.policy.controller.Controller`,
and does what it answers. Frameworks are imported by the module of that name alone.
"""
