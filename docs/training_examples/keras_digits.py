"""Keras, led by a policy: KERAS_BACKEND=torch python keras_digits.py policy.json FOLDER."""

import sys

import keras
from sklearn.datasets import load_digits

import depl
from depl.training.checkpoints import Checkpoints
from depl.training.keras import ControllerCallback


@keras.saving.register_keras_serializable()
class Pruned(keras.constraints.Constraint):
    def __init__(self, share):
        self.share = share

    def __call__(self, weights):
        size = keras.ops.abs(weights)
        return keras.ops.where(size >= keras.ops.quantile(size, self.share), weights, 0.0)

    def get_config(self):
        return {"share": self.share}


def network(name, weights=None):
    pruned = Pruned({"p50": 0.5, "p75": 0.75}[name])
    hidden = keras.layers.Dense(16, "relu", kernel_constraint=pruned)
    model = keras.Sequential([keras.Input((64,)), hidden, keras.layers.Dense(10, "softmax")])
    model.compile(keras.optimizers.SGD(0.2), "sparse_categorical_crossentropy")
    if weights is not None:
        model.set_weights(weights)
    return model


policy, folder = sys.argv[1:]
images, labels = load_digits(return_X_y=True)
x, y = images / 16, labels
validation = x[600:1200], y[600:1200]
controller = depl.Controller.resume(policy, f"{folder}/run.jsonl")  # a new run, or one that was killed
follow = ControllerCallback(controller, "val_loss", checkpoints=Checkpoints(f"{folder}/weights", ".keras"))
found = follow.checkpoints.found(controller)
keras.utils.set_random_seed(1)
model = keras.models.load_model(found) if found else network("p50")
if controller.decision is None:
    controller.start(model.evaluate(*validation))
while not isinstance(controller.decision, depl.Stop):
    if isinstance(controller.decision, depl.Switch):
        model = network(controller.decision.model, model.get_weights())
    keras.utils.set_random_seed(1 + controller.epoch)
    model.fit(
        *(x[:600], y[:600]),
        batch_size=32,
        validation_data=validation,
        initial_epoch=controller.epoch,
        epochs=controller.last_epoch,
        callbacks=[follow],
    )
print(controller.why())
