"""Lightning, led by a policy: python lightning_digits.py policy.json FOLDER."""

import sys

import lightning
import torch
from sklearn.datasets import load_digits
from torch.nn.functional import cross_entropy
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset

import depl
from depl.training.checkpoints import Checkpoints
from depl.training.lightning import ControllerCallback


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10))
        convert(self, "p50")

    def training_step(self, batch, index):
        return cross_entropy(self.model(batch[0]), batch[1])

    def validation_step(self, batch, index):
        self.log("val_loss", cross_entropy(self.model(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.2)


def convert(module, to):
    first = module.model[0]
    if prune.is_pruned(first):
        prune.remove(first, "weight")
    prune.l1_unstructured(first, "weight", {"p50": 0.5, "p75": 0.75}[to])


policy, folder = sys.argv[1:]
images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)
lightning.seed_everything(1)
train = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=32, shuffle=True)
validation = DataLoader(TensorDataset(x[600:1200], y[600:1200]), batch_size=600)

controller = depl.Controller.resume(policy, f"{folder}/run.jsonl")  # a new run, or one that was killed
follow = ControllerCallback(
    controller, "val_loss", convert=convert, checkpoints=Checkpoints(f"{folder}/weights", ".ckpt")
)
trainer = lightning.Trainer(
    max_epochs=controller.last_epoch, callbacks=[follow], logger=False, enable_checkpointing=False
)
module = Classifier()
if controller.decision is None:
    trainer.validate(module, validation)  # the loss before the first epoch
trainer.fit(module, train, validation, ckpt_path=follow.resume_path)
print(controller.why())
