"""The logs of `tests.checks.tool_logs` that a framework's own training loop writes: Lightning and Keras."""

import json
import os
import warnings

from tests.checks.tool_logs_digits import (
    BATCH,
    EPOCHS,
    RATE,
    RUNS,
    convert,
    digits,
    mask,
    network,
    stages_of,
    switch_of,
)


def write_lightning(folder):
    """``CSVLogger``, with ``self.log`` of the training loss (each fifth step) and of the validation loss."""
    import lightning
    import torch
    from lightning.pytorch.loggers import CSVLogger

    class Classifier(lightning.LightningModule):
        def __init__(self, seed, lr, stages):
            super().__init__()
            self.save_hyperparameters()
            self.model = network(seed)

        def on_train_epoch_start(self):
            if self.current_epoch == switch_of(self.hparams.seed):
                convert(self.model, "p75")

        def training_step(self, batch, index):
            loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
            self.log("train_loss", loss)
            return loss

        def on_train_batch_end(self, *given):
            mask(self.model)

        def validation_step(self, batch, index):
            self.log("val_loss", torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), self.hparams.lr)

    data = digits()
    train = torch.utils.data.TensorDataset(data.train_x, data.train_y)
    val = torch.utils.data.TensorDataset(data.val_x, data.val_y)
    for seed in range(RUNS):
        model = Classifier(seed, RATE, stages_of(seed))
        trainer = lightning.Trainer(
            max_epochs=EPOCHS,
            logger=CSVLogger(folder),
            log_every_n_steps=5,
            accelerator="cpu",
            enable_progress_bar=False,
            enable_checkpointing=False,
            enable_model_summary=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaders = (
                torch.utils.data.DataLoader(train, BATCH, shuffle=True),
                torch.utils.data.DataLoader(val, len(val)),
            )
            trainer.fit(model, *loaders)


def write_keras(folder):
    """``CSVLogger`` of Keras, whose epochs begin at 0, and ``History.history`` as JSON; no run switches."""
    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    data = digits()
    for name in ("csv", "history"):
        (folder / name).mkdir()
    for seed in range(RUNS):
        keras.utils.set_random_seed(seed)
        model = keras.Sequential(
            [keras.layers.Input((64,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(10, "softmax")]
        )
        model.compile(keras.optimizers.SGD(0.2), "sparse_categorical_crossentropy", metrics=["accuracy"])
        logger = keras.callbacks.CSVLogger(folder / "csv" / f"training_seed{seed:02d}.csv")
        history = model.fit(
            data.train_x.numpy(),
            data.train_y.numpy(),
            batch_size=BATCH,
            epochs=EPOCHS,
            verbose=0,
            validation_data=(data.val_x.numpy(), data.val_y.numpy()),
            callbacks=[logger],
        )
        (folder / "history" / f"history_seed{seed:02d}.json").write_text(json.dumps(history.history))
