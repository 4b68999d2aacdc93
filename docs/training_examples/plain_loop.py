"""A plain PyTorch loop that a policy leads: python plain_loop.py policy.json FOLDER."""

import sys

import torch
from sklearn.datasets import load_digits
from torch.nn.functional import cross_entropy
from torch.nn.utils import prune

import depl
from depl.training.checkpoints import Checkpoints

policy, folder = sys.argv[1:]
images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10))


def convert(to):
    if prune.is_pruned(model):
        prune.remove(model[0], "weight")
    prune.l1_unstructured(model[0], "weight", {"p50": 0.5, "p75": 0.75}[to])


def train(epoch):
    optimizer = torch.optim.SGD(model.parameters(), 0.2)
    for batch in torch.randperm(600, generator=torch.Generator().manual_seed(epoch)).split(32):
        optimizer.zero_grad()
        cross_entropy(model(x[batch]), y[batch]).backward()
        optimizer.step()


def evaluate():
    with torch.no_grad():
        return cross_entropy(model(x[600:1200]), y[600:1200])


controller = depl.Controller.resume(policy, f"{folder}/run.jsonl")  # a new run, or one that was killed
weights = Checkpoints(f"{folder}/weights", ".pt")
convert("p50")
if found := weights.found(controller):
    convert(controller.records[-1]["model"])
    model.load_state_dict(torch.load(found))
decision = controller.decision or controller.start(evaluate())
while not isinstance(decision, depl.Stop):
    if isinstance(decision, depl.Switch):
        convert(decision.model)
    train(decision.epoch)
    decision = weights.observe(controller, evaluate(), lambda path: torch.save(model.state_dict(), path))
print(controller.why())
