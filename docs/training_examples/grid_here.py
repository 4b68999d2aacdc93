"""A grid of Flower whose nodes are functions of this process: for examples and tests alone."""

from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity


class GridHere(Grid):
    def __init__(self, client, nodes):
        self.client, self.nodes = client, range(nodes)
        # What Flower's runtime sets before it calls a ServerApp; messages carry it.
        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1

    def get_node_ids(self):
        return self.nodes

    def send_and_receive(self, messages, *, timeout=None):
        return [self.client(message) for message in messages]

    def _unused(self, *given, **named):
        raise NotImplementedError

    run = property(_unused)
    set_run = create_message = push_messages = pull_messages = _unused
